package referee

import (
	"encoding/binary"
	"errors"
)

// errCorrupt is returned for bytes that no encoder of this package wrote.
var errCorrupt = errors.New("referee: corrupt record")

// encoder appends values in the one binary form of this package: unsigned and
// zigzag varints, byte strings with their length before them. The form is
// canonical: equal values give equal bytes, which is what hashes rest on.
type encoder struct{ buf []byte }

func (e *encoder) u8(v uint8)         { e.buf = append(e.buf, v) }
func (e *encoder) uint(v uint64)      { e.buf = binary.AppendUvarint(e.buf, v) }
func (e *encoder) int(v int64)        { e.buf = binary.AppendVarint(e.buf, v) }
func (e *encoder) fixed(v []byte)     { e.buf = append(e.buf, v...) }
func (e *encoder) bytes(v []byte)     { e.uint(uint64(len(v))); e.fixed(v) }
func (e *encoder) str(v string)       { e.uint(uint64(len(v))); e.buf = append(e.buf, v...) }
func (e *encoder) bool(v bool)        { e.u8(map[bool]uint8{true: 1}[v]) }
func (e *encoder) ints(v []int64)     { e.uint(uint64(len(v))); each(v, e.int) }
func (e *encoder) strs(v []string)    { e.uint(uint64(len(v))); each(v, e.str) }
func (e *encoder) byteses(v [][]byte) { e.uint(uint64(len(v))); each(v, e.bytes) }

func each[T any](values []T, do func(T)) {
	for _, v := range values {
		do(v)
	}
}

// decoder reads what encoder wrote. After the first fault every read returns
// zero and err stays set, so that callers check once, at the end.
type decoder struct {
	buf []byte
	err error
}

func (d *decoder) fail() { d.err, d.buf = errCorrupt, nil }

func (d *decoder) fixed(n int) []byte {
	if n < 0 || n > len(d.buf) {
		d.fail()
		return nil
	}
	v := d.buf[:n:n]
	d.buf = d.buf[n:]
	return v
}

func (d *decoder) u8() uint8 {
	v := d.fixed(1)
	if v == nil {
		return 0
	}
	return v[0]
}

func (d *decoder) bool() bool {
	v := d.u8()
	if v > 1 {
		d.fail()
	}
	return v == 1
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.buf)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.buf)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

// count reads a number that stands for things of at least one byte each.
func (d *decoder) count() int {
	v := d.uint()
	if v > uint64(len(d.buf)) {
		d.fail()
		return 0
	}
	return int(v)
}

func (d *decoder) bytes() []byte {
	n := d.count()
	if n == 0 {
		return nil
	}
	return append([]byte(nil), d.fixed(n)...)
}

func (d *decoder) str() string { return string(d.fixed(d.count())) }

func (d *decoder) ints() []int64     { return list(d, d.int) }
func (d *decoder) strs() []string    { return list(d, d.str) }
func (d *decoder) byteses() [][]byte { return list(d, d.bytes) }

func list[T any](d *decoder, read func() T) []T {
	n := d.count()
	if n == 0 {
		return nil
	}
	values := make([]T, 0, n)
	for range n {
		values = append(values, read())
	}
	return values
}

func (d *decoder) hash() (h [32]byte) {
	copy(h[:], d.fixed(len(h)))
	return h
}

// end returns the first fault, and one if bytes are left over.
func (d *decoder) end() error {
	if d.err == nil && len(d.buf) != 0 {
		d.fail()
	}
	return d.err
}
