package rules

import (
	"fmt"
	"slices"
	"strings"
)

// FieldError says what is wrong with one field of a ruleset's part. Field is its
// JSON path there, such as "idle.count".
type FieldError struct {
	Field  string
	Reason string
}

// InvalidError refuses rules that contradict themselves, or have values that do not
// exist.
type InvalidError struct {
	Fields []FieldError // never empty
}

// Error names every refused field with its reason.
func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Field + ": " + f.Reason
	}
	return "invalid rules: " + strings.Join(parts, "; ")
}

// Validation gathers what is wrong with a value, field by field.
type Validation []FieldError

// Refuse notes a reason, in the form of fmt.Sprintf, where something is so.
func (v *Validation) Refuse(when bool, field, format string, args ...any) {
	if when {
		*v = append(*v, FieldError{field, fmt.Sprintf(format, args...)})
	}
}

// OneOf refuses a value that is not among those allowed.
func (v *Validation) OneOf(field, value string, allowed ...string) {
	v.Refuse(!slices.Contains(allowed, value), field, "%q is not one of %q", value, allowed)
}

// Between refuses a number below low or above high.
func (v *Validation) Between(field string, value, low, high int) {
	v.Refuse(value < low || value > high, field, "%d is not between %d and %d", value, low, high)
}
