package deal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
)

// Stream is an endless sequence of bytes, fixed by the material and the label
// and, without the server's seed, not to be told from chance. It is not safe for
// concurrent use.
type Stream struct {
	redacted
	mac     hash.Hash
	counter uint64 // of the next block
	block   [sha256.Size]byte
	unread  []byte // what is left of block
}

// Stream returns the stream of label from its beginning. Streams of different
// labels are independent: what one shows tells nothing of another.
func (m Material) Stream(label string) *Stream {
	b := m.append(appendTag(make([]byte, 0, 256), "referee.deal.v1.stream"))
	b = binary.BigEndian.AppendUint32(b, uint32(len(m.Players)))
	for _, seed := range m.Players {
		b = appendBytes(b, seed)
	}
	b = appendBytes(b, label)

	key := hmac.New(sha256.New, m.Server[:])
	key.Write(b)
	return &Stream{mac: hmac.New(sha256.New, key.Sum(nil))}
}

// Bytes returns the next n bytes.
func (s *Stream) Bytes(n int) []byte {
	out := make([]byte, n)
	s.read(out)
	return out
}

// Uint64 returns the next 8 bytes as a big-endian number.
func (s *Stream) Uint64() uint64 {
	var word [8]byte
	s.read(word[:])
	return binary.BigEndian.Uint64(word[:])
}

// Intn returns a number from 0 to n-1, each as likely as the others. It panics
// if n is not positive.
func (s *Stream) Intn(n int) int {
	if n <= 0 {
		panic("deal: Intn of a number that is not positive")
	}
	for {
		if number, ok := reduce(s.Uint64(), uint64(n)); ok {
			return int(number)
		}
	}
}

// reduce maps a word to a number below n. It refuses the words above the last
// whole multiple of n: they would make the low numbers likelier.
func reduce(word, n uint64) (uint64, bool) {
	excess := -n % n // 2^64 mod n
	return word % n, word <= math.MaxUint64-excess
}

func (s *Stream) read(out []byte) {
	for len(out) > 0 {
		if len(s.unread) == 0 {
			s.next()
		}
		n := copy(out, s.unread)
		out, s.unread = out[n:], s.unread[n:]
	}
}

func (s *Stream) next() {
	binary.BigEndian.PutUint64(s.block[:8], s.counter)
	s.mac.Reset()
	s.mac.Write(s.block[:8])
	s.unread = s.mac.Sum(s.block[:0])
	s.counter++
}
