package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

var update = flag.Bool("update", false, "write the golden files anew")

// wire records exchanges in testdata/wire and compares them with what is there.
// What differs from run to run is masked: ids by the order in which they were
// seen, times, sealed material and the tokens that hold ids.
type wire struct {
	*room
	ids map[string]string
}

// exchange is a golden file.
type exchange struct {
	Method   string          `json:"method"`
	Request  json.RawMessage `json:"request"`
	Response json.RawMessage `json:"response,omitempty"`
	Status   json.RawMessage `json:"status,omitempty"`
}

// call makes a unary call and compares the exchange with the golden file.
func (w *wire) call(name, token, method string, request, response proto.Message) {
	w.t.Helper()
	err := w.conn.Invoke(w.as(token), method, request, response)
	got := exchange{Method: method, Request: w.normal(request)}
	if err != nil {
		got.Status = w.normal(status.Convert(err).Proto())
	} else {
		got.Response = w.normal(response)
	}
	w.compare(name, got)
}

func (w *wire) compare(name string, got any) {
	w.t.Helper()
	content, err := json.MarshalIndent(got, "", "  ")
	must(w.t, err)
	content = append(content, '\n')
	file := filepath.Join("testdata", "wire", name+".json")
	if *update {
		must(w.t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(w.t, os.WriteFile(file, content, 0o644))
		return
	}
	want, err := os.ReadFile(file)
	must(w.t, err)
	if !bytes.Equal(content, want) {
		w.t.Errorf("%s differs (run with -update and read the diff). got:\n%s", file, content)
	}
}

// normal is a message as JSON, masked. protojson's spacing is random on purpose,
// so it is read and written again.
func (w *wire) normal(m proto.Message) json.RawMessage {
	w.t.Helper()
	m = proto.Clone(m)
	w.mask(m.ProtoReflect())
	content, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	must(w.t, err)
	var value any
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	must(w.t, decoder.Decode(&value))
	content, err = json.Marshal(value)
	must(w.t, err)
	return content
}

// random are the fields that are random without being sealed.
var random = map[protoreflect.FullName]bool{
	"referee.v1.DealProof.server_seed": true, "referee.v1.GameEnded.server_seed": true,
	"referee.v1.MatchEnded.server_seed": true, "referee.v1.SeatPlacement.salt": true,
}

func (w *wire) mask(m protoreflect.Message) {
	if think, ok := m.Interface().(*refereev1.ThinkTimes); ok && think.GetPlies() > 0 {
		think.MeanMs, think.P50Ms, think.P90Ms = 1, 1, 1 // 0 would be absent
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case isSealed(f) && f.IsList():
			m.Mutable(f).List().Truncate(1)
			m.Mutable(f).List().Set(0, protoreflect.ValueOfBytes([]byte("sealed")))
		case isSealed(f) || random[f.FullName()]:
			m.Set(f, protoreflect.ValueOfBytes([]byte("sealed")))
		case f.Name() == "proof" && f.IsList() || f.Name() == "consistency_proof":
			for i := range v.List().Len() {
				v.List().Set(i, protoreflect.ValueOfBytes([]byte("hash")))
			}
		case f.Name() == "checkpoint" || f.FullName() == "referee.v1.GetLogTileResponse.content":
			m.Set(f, masked(f, "of this run"))
		case f.Name() == "next_page_token" || f.Name() == "page_token" || f.Name() == "resume_token":
			m.Set(f, protoreflect.ValueOfString("token"))
		case f.Message() != nil && f.Message().FullName() == "google.protobuf.Timestamp":
			m.Set(f, protoreflect.ValueOfMessage((&timestamppb.Timestamp{Seconds: 1}).ProtoReflect()))
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				w.mask(v.List().Get(i).Message())
			}
		case f.IsMap() || f.IsList():
		case f.Message() != nil && f.Message().FullName() == "google.protobuf.Any":
		case f.Message() != nil:
			w.mask(v.Message())
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString(w.maskID(v.String())))
		}
		return true
	})
}

func masked(f protoreflect.FieldDescriptor, text string) protoreflect.Value {
	if f.Kind() == protoreflect.BytesKind {
		return protoreflect.ValueOfBytes([]byte(text))
	}
	return protoreflect.ValueOfString(text)
}

func (w *wire) maskID(text string) string {
	if _, ok := parseID(text); !ok {
		return text
	}
	if w.ids[text] == "" {
		w.ids[text] = fmt.Sprintf("id %d", len(w.ids)+1)
	}
	return w.ids[text]
}

func newWire(t *testing.T) *wire {
	return &wire{room: newRoom(t, options{deal: tidy}), ids: map[string]string{}}
}
