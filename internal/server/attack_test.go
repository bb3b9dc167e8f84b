package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
	refereev1 "referee.example/proto/referee/v1"
)

// published is what everybody can see of a running game: the answers of the
// service to all who may ask, and the columns of the database.
type published struct {
	deal.Context
	players [][]byte
	root    [32]byte
	turned  []deal.Opening
	// secrets are all byte strings, ids and numbers that were seen: each might be
	// the server's seed, or what it was made from.
	secrets map[string]bool
}

// see takes in a message, field by field.
func (p *published) see(m proto.Message) {
	protoRange(m.ProtoReflect(), func(f protoreflect.FieldDescriptor, v protoreflect.Value) {
		switch f.Kind() {
		case protoreflect.BytesKind:
			p.secrets[string(v.Bytes())] = true
		case protoreflect.StringKind:
			p.text(v.String())
		}
	})
	started, opened := &refereev1.GameStarted{}, &refereev1.SquareProof{}
	protoMessages(m.ProtoReflect(), func(m protoreflect.Message) {
		switch m.Descriptor().FullName() {
		case started.ProtoReflect().Descriptor().FullName():
			s, _ := m.Interface().(*refereev1.GameStarted)
			copy(p.root[:], s.GetRoot())
			p.players = s.GetPlayerSeeds()
		case opened.ProtoReflect().Descriptor().FullName():
			o, _ := m.Interface().(*refereev1.SquareProof)
			p.opening(o)
		}
	})
}

// text takes in a string, and what it stands for.
func (p *published) text(s string) {
	p.secrets[s] = true
	if b, err := hex.DecodeString(strings.ReplaceAll(strings.TrimPrefix(s, `\x`), "-", "")); err == nil {
		p.secrets[string(b)] = true
	}
}

func (p *published) opening(o *refereev1.SquareProof) {
	square, err := banqi.ParseSquare(o.GetSquare())
	piece, err2 := banqi.ParsePiece(o.GetPiece()[0])
	if err != nil || err2 != nil {
		panic("a proof of no square or no piece")
	}
	out := deal.Opening{Square: byte(square), Piece: byte(piece), Salt: o.GetSalt()}
	for _, hash := range o.GetPath() {
		out.Proof = append(out.Proof, [32]byte(hash))
	}
	for _, known := range p.turned {
		if known.Square == out.Square {
			return
		}
	}
	p.turned = append(p.turned, out)
}

// protoRange visits every scalar of a message and of those in it.
func protoRange(m protoreflect.Message, visit func(protoreflect.FieldDescriptor, protoreflect.Value)) {
	protoMessages(m, func(m protoreflect.Message) {
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case f.IsMap() || f.Message() != nil:
			case f.IsList():
				for i := range v.List().Len() {
					visit(f, v.List().Get(i))
				}
			default:
				visit(f, v)
			}
			return true
		})
	})
}

// protoMessages visits a message and all that are in it; the contract has no
// map of messages.
func protoMessages(m protoreflect.Message, visit func(protoreflect.Message)) {
	visit(m)
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				protoMessages(v.List().Get(i).Message(), visit)
			}
		default:
			protoMessages(v.Message(), visit)
		}
		return true
	})
}

// columns takes in every value of the database as text.
func (p *published) columns(r *room) {
	conn, err := pgx.Connect(r.t.Context(), r.url)
	must(r.t, err)
	defer func() { must(r.t, conn.Close(r.t.Context())) }()
	for _, table := range []string{"matches", "match_states", "games", "events", "participants", "create_requests", "rulesets"} {
		rows, err := conn.Query(r.t.Context(), `SELECT e.value FROM `+table+` t, jsonb_each_text(to_jsonb(t)) e WHERE e.value IS NOT NULL`)
		must(r.t, err)
		values, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(r.t, err)
		for _, value := range values {
			p.text(value)
		}
	}
}

// attack tries to tell what lies face down on a square; 0 if it learned nothing.
func (p *published) attack(square rules.Square) byte {
	for secret := range p.secrets {
		for start := 0; start == 0 || start+32 <= len(secret); start++ {
			window := secret[start:min(start+32, len(secret))]
			for _, seed := range []deal.Seed{padded(window), sha256.Sum256([]byte(window))} {
				if piece := p.withSeed(square, seed); piece != 0 {
					return piece
				}
			}
		}
	}
	target, known := p.leafOf(square)
	if !known {
		return 0
	}
	for _, salt := range p.salts() {
		if piece := guess(square, salt, target); piece != 0 {
			return piece
		}
	}
	return 0
}

func padded(b string) (seed deal.Seed) {
	copy(seed[:], b)
	return seed
}

// withSeed deals with a guessed seed and believes it if all that was turned agrees.
func (p *published) withSeed(square rules.Square, seed deal.Seed) byte {
	dealt := deal.Material{Context: p.Context, Server: seed, Players: p.players}.Shuffle(deck())
	for _, o := range p.turned {
		if dealt[o.Square] != o.Piece {
			return 0
		}
	}
	return dealt[square]
}

// leafOf returns the leaf of a square, which the proof of its neighbour shows.
func (p *published) leafOf(square rules.Square) ([32]byte, bool) {
	for _, o := range p.turned {
		if rules.Square(o.Square) == square^1 {
			return o.Proof[0], true
		}
	}
	return [32]byte{}, false
}

// salts are all of 16 bits, none among them, and the neighbours of those seen.
func (p *published) salts() [][]byte {
	var all [][]byte
	for n := range 1 << 16 {
		all = append(all, binary.BigEndian.AppendUint16(nil, uint16(n)))
	}
	for i := range all {
		all[i] = append(all[i], make([]byte, deal.SaltSize-2)...)
	}
	for _, o := range p.turned {
		for step := range 64 {
			next := bytes.Clone(o.Salt)
			next[len(next)-1] += byte(step)
			all = append(all, next)
		}
	}
	return all
}

func guess(square rules.Square, salt []byte, target [32]byte) byte {
	for piece := byte(1); piece < 16; piece++ {
		if leafHash(byte(square), piece, salt) == target {
			return piece
		}
	}
	return 0
}

func tagged(tag string, parts ...[]byte) [32]byte {
	return sha256.Sum256(append(append([]byte{byte(len(tag))}, tag...), bytes.Join(parts, nil)...))
}

func leafHash(square, piece byte, salt []byte) [32]byte {
	return tagged("referee.deal.v1.leaf", []byte{square, piece}, salt)
}

// resalted is what the service would publish with other salts: the same deal
// under another root, with other proofs.
func (p *published) resalted(arrangement []byte, salt func(square int) []byte) *published {
	level := make([][32]byte, len(arrangement))
	for square, piece := range arrangement {
		level[square] = leafHash(byte(square), piece, salt(square))
	}
	other := *p
	other.turned = nil
	for _, o := range p.turned {
		other.turned = append(other.turned, deal.Opening{Square: o.Square, Piece: o.Piece, Salt: salt(int(o.Square))})
	}
	for height := 0; len(level) > 1; height++ {
		for i := range other.turned {
			o := &other.turned[i]
			o.Proof = append(o.Proof, level[int(o.Square)>>height^1])
		}
		for i := range len(level) / 2 {
			level[i] = tagged("referee.deal.v1.node", level[2*i][:], level[2*i+1][:])
		}
		level = level[:len(level)/2]
	}
	other.root = tagged("referee.deal.v1.root", []byte{byte(len(arrangement))}, level[0][:])
	return &other
}

// look asks everything that may be asked of a running game.
func (t *table) look() *published {
	t.t.Helper()
	p := &published{secrets: map[string]bool{}}
	id, err := parseIDText(t.id)
	must(t.t, err)
	p.Context = deal.Context{MatchID: id, Game: uint16(t.game.GetGame())}
	p.see(t.last)
	one := uint32(1)
	for _, viewer := range []*uint32{nil, new(uint32), &one} {
		game, err := t.match.GetGame(t.as("east"), &refereev1.GetGameRequest{MatchId: t.id, ViewerSeat: viewer})
		must(t.t, err)
		p.see(game)
		record, err := t.audit.GetGameRecord(t.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: t.id, Game: t.game.GetGame(), ViewerSeat: viewer})
		must(t.t, err)
		p.see(record)
	}
	match, err := t.match.GetMatch(t.as("east"), &refereev1.GetMatchRequest{MatchId: t.id})
	must(t.t, err)
	p.see(match)
	actions, err := t.match.ListLegalActions(t.as("east"), &refereev1.ListLegalActionsRequest{MatchId: t.id})
	must(t.t, err)
	p.see(actions)
	verdict, err := t.verify("auditor", t.id, 0)
	must(t.t, err)
	p.see(verdict)
	exported, err := t.exported("auditor", &refereev1.ExportGamesRequest{MatchId: t.id})
	must(t.t, err)
	for _, game := range exported {
		p.see(game)
	}
	p.columns(t.room)
	return p
}

func parseIDText(text string) (referee.ID, error) {
	id, ok := parseID(text)
	if !ok {
		return id, notFound()
	}
	return id, nil
}

// arrangement is what lies on each square, which only the key's holder can know.
func (t *table) arrangement(p *published) []byte {
	t.t.Helper()
	keys, err := deal.ParseKeyring("test:" + base64.StdEncoding.EncodeToString(make([]byte, deal.KeySize)))
	must(t.t, err)
	sealed, err := t.store.SealedSeeds(t.t.Context(), p.MatchID)
	must(t.t, err)
	seed, err := referee.OpenSeed(keys, p.Context, sealed[p.Game-1])
	must(t.t, err)
	return deal.Material{Context: p.Context, Server: seed, Players: p.players}.Shuffle(deck())
}

// TestAttack looks for face-down pieces in all that a running game shows. It
// must break each careless variant of the deal, and not the deal.
func TestAttack(t *testing.T) {
	const target = rules.Square(1) // b1, beside a1
	// So many are turned that no wrong seed agrees with all of them by chance: the
	// attack tries some ten thousand, and six soldiers agree with one in a
	// hundred thousand.
	turned := []string{"a1", "c3", "d8", "b2", "c5", "a7", "a3", "b6", "c7", "d2", "d5", "b4", "a5", "c1"}
	open := func(o options) *table {
		played := newRoom(t, o).started()
		for _, square := range turned {
			played.play(flip(square))
		}
		return played
	}
	product := open(options{})
	public := product.look()
	arrangement := product.arrangement(public)
	if len(public.turned) != len(turned) || public.root == ([32]byte{}) || len(public.secrets) < 100 {
		t.Fatalf("only %d proofs and %d secrets were seen", len(public.turned), len(public.secrets))
	}
	for _, o := range public.turned {
		if o.Piece != arrangement[o.Square] || !o.Verify(public.root, len(arrangement)) {
			t.Fatalf("the proof of square %d does not hold", o.Square)
		}
	}
	if piece := public.attack(target); piece != 0 {
		t.Errorf("the deal: the attack finds piece %d", piece)
	}
	careless := open(options{deal: func(m deal.Material, _ []byte) []byte {
		m.Server = m.Commit(m.Server)
		return m.Shuffle(deck())
	}})
	fromCommitment := careless.look()
	hidden := deal.Material{Context: fromCommitment.Context, Players: fromCommitment.players,
		Server: committedSeed(careless, fromCommitment)}.Shuffle(deck())
	salts := map[string]func(int) []byte{
		"no salt": func(int) []byte { return make([]byte, deal.SaltSize) },
		"salt of 16 bits": func(square int) []byte {
			return append([]byte{byte(square * 7), 0x5a}, make([]byte, deal.SaltSize-2)...)
		},
	}
	if piece := fromCommitment.attack(target); piece != hidden[target] {
		t.Errorf("deal from the commitment: the attack finds %d, so it shows nothing", piece)
	}
	for name, salt := range salts {
		mutant := public.resalted(arrangement, salt)
		for _, o := range mutant.turned {
			if !o.Verify(mutant.root, len(arrangement)) {
				t.Fatalf("%s: the mutant's own proofs do not hold", name)
			}
		}
		if piece := mutant.attack(target); piece != arrangement[target] {
			t.Errorf("%s: the attack finds %d, so it shows nothing", name, piece)
		}
	}
}

// committedSeed is the commitment of a running game, which one mutant takes for
// its seed.
func committedSeed(t *table, p *published) deal.Seed {
	t.t.Helper()
	record, err := t.store.Record(t.t.Context(), p.MatchID)
	must(t.t, err)
	return deal.Seed(record.Games[p.Game-1].Commitment)
}
