package deal

import (
	"fmt"
	"io"
)

// redaction is what secrets print as.
const redaction = "(sealed)"

// redacted is embedded in every type that holds a secret: formatting its owner,
// with any verb, prints a fixed word. Text and JSON encoders get the same.
type redacted struct{}

// Format writes the same word for every verb and value.
func (redacted) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redaction) }

// MarshalText returns the same word for every value.
func (redacted) MarshalText() ([]byte, error) { return []byte(redaction), nil }

// Format writes the same word for every verb and value.
func (Seed) Format(f fmt.State, verb rune) { redacted{}.Format(f, verb) }

// MarshalText returns the same word for every value. A record that reveals a
// seed writes its bytes.
func (Seed) MarshalText() ([]byte, error) { return redacted{}.MarshalText() }
