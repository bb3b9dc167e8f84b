package verify

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a line's form.
const (
	// maxDepth is how deep values nest: a game, its openings, an opening, its
	// proof is the deepest.
	maxDepth = 4
	// maxElements is how many elements an array has. A game has at most 10,000
	// plies; calls that are none, such as offers of a draw, are the rest.
	maxElements = 1_000_000
)

// required are the keys that every line has.
var required = []string{"events", "format", "game", "hashes", "match_id", "ruleset"}

// keyError is a FormatError without its line.
type keyError struct{ key, problem string }

func (e *keyError) Error() string { return e.problem }

// shape is the keys that an object may have, and the shape of each one's value,
// or of the elements if that is an array; nil for values without keys. Under the
// key anyName stand those that are names themselves.
type shape map[string]shape

const anyName = "*"

var lineShape = shapeOf(reflect.TypeFor[exportedGame]())

func shapeOf(t reflect.Type) shape {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return shapeOf(t.Elem())
	case reflect.Map:
		return shape{anyName: shapeOf(t.Elem())}
	case reflect.Struct:
		s := shape{}
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			s[name] = shapeOf(t.Field(i).Type)
		}
		return s
	}
	return nil
}

// strict refuses what package encoding/json lets pass, and other readers take
// for something else: keys that are unknown, come twice or are written in another
// case, null, numbers as -0, and text that isn't UTF-8. It is no parser: of what
// is no JSON it may let anything pass.
func strict(line []byte) error {
	if !utf8.Valid(line) {
		return &keyError{"", "not UTF-8"}
	}
	s := scanner{line: line}
	for s.at < len(line) {
		if err := s.step(); err != nil {
			return err
		}
	}
	return nil
}

// scanner walks over a line. Between two steps it stands outside of strings.
type scanner struct {
	line []byte
	at   int
	open []level // the objects and arrays around the place
}

// level is an object or an array that has begun.
type level struct {
	object bool
	shape  shape    // of the object, or of the array's elements
	wants  bool     // a key comes next
	keys   [][]byte // so far
	value  shape    // of the last key
	commas int
}

func (s *scanner) step() error {
	b := s.line[s.at]
	s.at++
	switch b {
	case '{', '[':
		if len(s.open) == maxDepth {
			return &keyError{s.path(), fmt.Sprintf("nested deeper than %d levels", maxDepth)}
		}
		s.open = append(s.open, level{object: b == '{', shape: s.shape(), wants: b == '{'})
	case '}', ']':
		return s.close()
	case '"':
		return s.text()
	case ',':
		return s.comma()
	case 'n':
		return &keyError{s.path(), "null, which no key may be"}
	case '-':
		if s.at < len(s.line) && s.line[s.at] == '0' {
			return &keyError{s.path(), "a negative zero"}
		}
	}
	return nil
}

// shape is that of a value which begins here.
func (s *scanner) shape() shape {
	if len(s.open) == 0 {
		return lineShape
	}
	if top := &s.open[len(s.open)-1]; top.object {
		return top.value
	}
	return s.open[len(s.open)-1].shape
}

func (s *scanner) comma() error {
	if len(s.open) == 0 {
		return nil
	}
	top := &s.open[len(s.open)-1]
	top.wants = top.object
	if top.commas++; !top.object && top.commas >= maxElements {
		return &keyError{s.path(), fmt.Sprintf("more than %d elements", maxElements)}
	}
	return nil
}

// text passes a string, and notes it if it is a key.
func (s *scanner) text() error {
	begin := s.at
	for ended := false; !ended; {
		n := bytes.IndexByte(s.line[s.at:], '"')
		if n < 0 {
			s.at = len(s.line)
			return nil
		}
		escapes := 0
		for i := s.at + n - 1; i >= begin && s.line[i] == '\\'; i-- {
			escapes++
		}
		s.at, ended = s.at+n+1, escapes%2 == 0
	}
	if len(s.open) == 0 || !s.open[len(s.open)-1].wants {
		return nil
	}
	top := &s.open[len(s.open)-1]
	key := s.line[begin : s.at-1]
	top.keys, top.wants = append(top.keys, key), false
	value, known := top.shape[string(key)]
	if !known && isName(key) {
		value, known = top.shape[anyName]
	}
	if top.value = value; !known || string(key) == anyName {
		return &keyError{s.path(), "unknown key"}
	}
	return nil
}

// isName reports whether a key is a number of a principal, in the one way to
// write it.
func isName(key []byte) bool {
	return len(key) > 0 && len(bytes.Trim(key, "0123456789")) == 0
}

// close ends an object or an array.
func (s *scanner) close() error {
	if len(s.open) == 0 {
		return nil
	}
	keys := s.open[len(s.open)-1].keys
	s.open = s.open[:len(s.open)-1]
	slices.SortFunc(keys, bytes.Compare)
	for i := 1; i < len(keys); i++ {
		if bytes.Equal(keys[i-1], keys[i]) {
			return &keyError{s.below(string(keys[i])), "a key that comes twice"}
		}
	}
	if len(s.open) > 0 {
		return nil
	}
	for _, key := range required {
		if _, there := slices.BinarySearchFunc(keys, []byte(key), bytes.Compare); !there {
			return &keyError{key, "missing"}
		}
	}
	return nil
}

// path names the place by the keys that lead to it.
func (s *scanner) path() string {
	var path []string
	for _, l := range s.open {
		if n := len(l.keys); n > 0 {
			path = append(path, string(l.keys[n-1]))
		}
	}
	return strings.Join(path, ".")
}

func (s *scanner) below(key string) string {
	if path := s.path(); path != "" {
		return path + "." + key
	}
	return key
}
