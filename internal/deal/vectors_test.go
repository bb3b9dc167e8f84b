package deal

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"strconv"
	"testing"
)

// testdata/verify.py checks the same file with an implementation of its own, so
// a wrong -update does not go unseen.
var update = flag.Bool("update", false, "compute the outputs of testdata/vectors.json again")

const vectorsPath = "testdata/vectors.json"

// hexBytes is written in lower-case hexadecimal.
type hexBytes []byte

func (h hexBytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h)), nil }

func (h *hexBytes) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	*h = raw
	return err
}

type vectors struct {
	Version int            `json:"version"`
	Games   []gameVector   `json:"games"`
	Sealed  []sealedVector `json:"sealed"`
}

type gameVector struct {
	Name       string     `json:"name"`
	MatchID    hexBytes   `json:"match_id"`
	Game       uint16     `json:"game"`
	ServerSeed hexBytes   `json:"server_seed"`
	Players    []hexBytes `json:"players"`

	Commitment  hexBytes        `json:"commitment"`
	Streams     []streamVector  `json:"streams"`
	Draws       []drawVector    `json:"draws"`
	Deck        hexBytes        `json:"deck"`
	Arrangement hexBytes        `json:"arrangement"`
	Root        hexBytes        `json:"root"`
	Openings    []openingVector `json:"openings"`
}

type streamVector struct {
	Label string   `json:"label"`
	Bytes hexBytes `json:"bytes"`
}

// drawVector has its numbers as text: JSON readers round above 2^53.
type drawVector struct {
	Label   string   `json:"label"`
	Below   []string `json:"below"`
	Numbers []string `json:"numbers"`
}

type openingVector struct {
	Square byte       `json:"square"`
	Piece  byte       `json:"piece"`
	Salt   hexBytes   `json:"salt"`
	Proof  []hexBytes `json:"proof"`
}

type sealedVector struct {
	Keyring string   `json:"keyring"`
	MatchID hexBytes `json:"match_id"`
	Game    uint16   `json:"game"`
	Purpose string   `json:"purpose"`
	Nonce   hexBytes `json:"nonce"`
	Plain   hexBytes `json:"plain"`
	Sealed  hexBytes `json:"sealed"`
}

func (v gameVector) material() Material {
	m := Material{Context: Context{MatchID: [16]byte(v.MatchID), Game: v.Game}, Server: Seed(v.ServerSeed)}
	for _, seed := range v.Players {
		m.Players = append(m.Players, seed)
	}
	return m
}

// computed returns the vector with all its outputs computed from its inputs.
func (v gameVector) computed(t *testing.T) gameVector {
	m := v.material()
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	commitment := m.Commit(m.Server)
	v.Commitment = commitment[:]
	v.Streams = append([]streamVector{}, v.Streams...)
	for i, s := range v.Streams {
		v.Streams[i].Bytes = m.Stream(s.Label).Bytes(len(s.Bytes))
	}
	v.Draws = append([]drawVector{}, v.Draws...)
	for i, d := range v.Draws {
		v.Draws[i].Numbers = draws(t, m.Stream(d.Label), d.Below)
	}
	v.Arrangement = m.Shuffle(v.Deck)
	tree := m.Tree(v.Arrangement)
	root := tree.Root()
	v.Root = root[:]
	v.Openings = append([]openingVector{}, v.Openings...)
	for i, o := range v.Openings {
		v.Openings[i] = openingVectorOf(tree.Open(int(o.Square)))
	}
	return v
}

func draws(t *testing.T, s *Stream, below []string) []string {
	numbers := []string{}
	for _, text := range below {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, strconv.Itoa(s.Intn(n)))
	}
	return numbers
}

func openingVectorOf(o Opening) openingVector {
	v := openingVector{Square: o.Square, Piece: o.Piece, Salt: o.Salt, Proof: []hexBytes{}}
	for _, hash := range o.Proof {
		v.Proof = append(v.Proof, bytes.Clone(hash[:]))
	}
	return v
}

func (v sealedVector) computed(t *testing.T) sealedVector {
	ring, err := ParseKeyring(v.Keyring)
	if err != nil {
		t.Fatal(err)
	}
	c := Context{MatchID: [16]byte(v.MatchID), Game: v.Game}
	v.Sealed = ring.Seal(c, v.Purpose, v.Plain, [12]byte(v.Nonce))
	return v
}

func TestVectors(t *testing.T) {
	stated, err := os.ReadFile(vectorsPath)
	if err != nil {
		t.Fatal(err)
	}
	var all vectors
	if err := json.Unmarshal(stated, &all); err != nil {
		t.Fatal(err)
	}
	if all.Version != Version || len(all.Games) < 11 || len(all.Sealed) < 2 {
		t.Fatalf("version %d, %d games, %d sealed", all.Version, len(all.Games), len(all.Sealed))
	}
	if *update {
		writeVectors(t, all)
		return
	}
	for _, v := range all.Games {
		same(t, v.Name, v, v.computed(t))
	}
	for _, v := range all.Sealed {
		same(t, "sealed for "+v.Purpose, v, v.computed(t))
	}
}

func same(t *testing.T, name string, stated, computed any) {
	t.Helper()
	want, err := json.Marshal(stated)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(computed)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\ncomputed %s\nstated   %s", name, got, want)
	}
}

func writeVectors(t *testing.T, all vectors) {
	for i, v := range all.Games {
		all.Games[i] = v.computed(t)
	}
	for i, v := range all.Sealed {
		all.Sealed[i] = v.computed(t)
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(vectorsPath, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
