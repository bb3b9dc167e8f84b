package referee

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"testing"

	"referee.example/internal/rules"
)

// wholeEvent has every field set, each byte of its own.
func wholeEvent() Event {
	return Event{
		Match: ID{1, 2, 15: 3}, Game: 0x0405, Seq: 0x06070809, Ply: 0x0a0b0c0d, Seat: 1, Kind: EventPly,
		Action: rules.Move(14, 18), Turned: 9, Captured: 10, Time: 1_767_225_600_000_001, RequestID: ID{11, 15: 12},
		Principal: -2, Clocks: []byte{0xc1}, ClientHash: []byte{0xc2, 0xc3}, Detail: []byte{0xc4, 0xc5, 0xc6},
	}
}

// TestCanonicalForm has the bytes and the hash as another language can make
// them from the words of internal/README.md.
func TestCanonicalForm(t *testing.T) {
	const want = "01020000000000000000000000000003" + "0405" + "06070809" + "0a0b0c0d" + "01" + "03" +
		"02" + "0e" + "12" + "09" + "0a" + "0006474846204001" + "0b00000000000000000000000000000c" + "fffffffe" +
		"00000001c1" + "00000002c2c3" + "00000003c4c5c6"
	e := wholeEvent()
	got := EncodeEvent(&e)
	if hex.EncodeToString(got) != want {
		t.Fatalf("the canonical form is\n%x, want\n%s", got, want)
	}
	back, err := DecodeEvent(got)
	if err != nil || !reflect.DeepEqual(back, e) {
		t.Errorf("read back as %+v, %v", back, err)
	}
	const hash = "346f339a8ef68940662d0408ab8da60d43df6cc9dea4f2eb92fc73bb0a09f680"
	previous := [32]byte{7}
	if sum := ChainHash(previous, got); hex.EncodeToString(sum[:]) != hash || sum != e.chain(previous) {
		t.Errorf("the hash is %x", sum)
	}
}

func TestDecodeEventRefuses(t *testing.T) {
	e := wholeEvent()
	good := EncodeEvent(&e)
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for name, b := range map[string][]byte{
		"nothing":             nil,
		"cut in the head":     good[:canonicalHead-1],
		"cut in a part":       good[:len(good)-1],
		"left over":           append(bytes.Clone(good), 0),
		"kind 0":              change(27, 0),
		"unknown kind":        change(27, 29),
		"seat 4":              change(26, 4),
		"seat -2":             change(26, 0xfe),
		"time before 1970":    change(33, 0x80),
		"time after 9999":     change(33, 0x7f),
		"part beyond":         change(canonicalHead, 0xff),
		"longer than allowed": append(bytes.Clone(good), make([]byte, MaxEventBytes)...),
	} {
		if _, err := DecodeEvent(b); !errors.Is(err, ErrEvent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecodeEvent(f *testing.F) {
	e := wholeEvent()
	f.Add(EncodeEvent(&e))
	e.Clocks, e.ClientHash, e.Detail = nil, nil, nil
	f.Add(EncodeEvent(&e))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := DecodeEvent(b)
		if err != nil {
			if !errors.Is(err, ErrEvent) {
				t.Errorf("error %v", err)
			}
			return
		}
		if again := EncodeEvent(&e); !bytes.Equal(again, b) {
			t.Errorf("%x is written again as %x", b, again)
		}
	})
}

// TestReplayRefusesSeatsThatAreNotThere: stored numbers may be anything.
func TestReplayRefusesSeatsThatAreNotThere(t *testing.T) {
	tb := newTable(t, preset(t, "7club-standard"))
	tb.start()
	for _, seat := range []rules.Seat{rules.NoSeat, 2, 3} {
		s := *tb.state
		e := Event{Match: s.ID, Game: 1, Seq: 3, Seat: seat, Kind: EventDrawOffered, Time: tb.now + second}
		if err := s.Replay(&e); !errors.Is(err, errReplay) {
			t.Errorf("seat %d: %v", seat, err)
		}
	}
}
