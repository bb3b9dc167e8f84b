package verify

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
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

// shape is the keys that an object may have, and the shape of each one's value, or
// of the elements if that is an array; nil for values without keys and any text.
// Under the key anyName stand those that are names themselves.
type shape struct {
	keys map[string]*shape
	// written refuses a text that is not in the one way to write its value.
	written func(text []byte) error
}

const anyName = "*"

var lineShape = shapeOf(reflect.TypeFor[exportedGame]())

func shapeOf(t reflect.Type) *shape {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &shape{written: isBase64}
		}
		return shapeOf(t.Elem())
	case reflect.Map:
		return &shape{keys: map[string]*shape{anyName: shapeOf(t.Elem())}}
	case reflect.Struct:
		s := &shape{keys: map[string]*shape{}}
		for i := range t.NumField() {
			name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			s.keys[name] = shapeOf(t.Field(i).Type)
			if strings.Contains(options, "string") {
				s.keys[name] = &shape{written: isDecimal}
			}
		}
		return s
	}
	return nil
}

// isBase64 refuses what decoders let pass: line's ends, which they skip, bits that
// are in no byte, and escapes.
func isBase64(text []byte) error {
	if bytes.ContainsAny(text, "\r\n") {
		return errBase64
	}
	if _, err := base64.StdEncoding.Strict().DecodeString(string(text)); err != nil {
		return errBase64
	}
	return nil
}

// isDecimal refuses numbers with a plus sign, with zeros before them and -0.
func isDecimal(text []byte) error {
	digits := bytes.TrimPrefix(text, []byte("-"))
	switch {
	case isName(digits), string(text) == "0":
		return nil
	}
	return errDecimal
}

var (
	errBase64  = errors.New("not base64 in the one way to write it")
	errDecimal = errors.New("not a whole number in the one way to write it")
)

// strict refuses what package encoding/json lets pass, and other readers take
// for something else: keys that are unknown, come twice or are written in another
// case, null, numbers as -0, base64 and numbers that could be written otherwise,
// halves of surrogate pairs, carriage returns, and text that isn't UTF-8. It is no parser: of what
// is no JSON it may let anything pass.
func strict(line []byte) error {
	if !utf8.Valid(line) {
		return &keyError{"", "not UTF-8"}
	}
	if bytes.IndexByte(line, '\r') >= 0 {
		return &keyError{"", "a carriage return: lines end in a newline alone"}
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
	shape  *shape   // of the object, or of the array's elements
	wants  bool     // a key comes next
	keys   [][]byte // so far
	value  *shape   // of the last key
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
func (s *scanner) shape() *shape {
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
	key := s.line[begin : s.at-1]
	if len(s.open) == 0 || !s.open[len(s.open)-1].wants {
		return s.value(key)
	}
	top := &s.open[len(s.open)-1]
	top.keys, top.wants = append(top.keys, key), false
	var value *shape
	known := false
	if top.shape != nil {
		value, known = top.shape.keys[string(key)]
		if !known && isName(key) {
			value, known = top.shape.keys[anyName]
		}
	}
	if top.value = value; !known || string(key) == anyName {
		return &keyError{s.path(), "unknown key"}
	}
	return nil
}

// value judges a text that is no key.
func (s *scanner) value(text []byte) error {
	if brokenPair(text) {
		return &keyError{s.path(), "half of a surrogate pair, which is no character"}
	}
	if form := s.shape(); len(s.open) > 0 && form != nil && form.written != nil {
		if err := form.written(text); err != nil {
			return &keyError{s.path(), err.Error()}
		}
	}
	return nil
}

// brokenPair reports whether a text has an escape of a surrogate without its
// other half: readers take it for different characters, or refuse it.
func brokenPair(text []byte) bool {
	for high := rune(0); ; {
		at := bytes.IndexByte(text, '\\')
		if high != 0 && at != 0 || at < 0 || at+1 == len(text) {
			return high != 0
		}
		text = text[at+1:]
		unit := rune(0)
		if len(text) >= 5 && text[0] == 'u' {
			if n, err := strconv.ParseUint(string(text[1:5]), 16, 16); err == nil && utf16.IsSurrogate(rune(n)) {
				unit = rune(n)
			}
		}
		switch {
		case high != 0 && utf16.DecodeRune(high, unit) == utf8.RuneError:
			return true
		case high != 0:
			high = 0
		case unit >= 0xdc00:
			return true
		default:
			high = unit
		}
		if text = text[1:]; high != 0 || unit != 0 {
			text = text[4:]
		}
	}
}

// isName reports whether a key is a number of a principal, in the one way to
// write it.
func isName(key []byte) bool {
	return len(key) > 0 && key[0] != '0' && len(bytes.Trim(key, "0123456789")) == 0
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
