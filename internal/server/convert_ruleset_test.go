package server

import (
	"reflect"
	"testing"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/protobuf/proto"
)

// fill sets every field of v to something that isn't its zero value.
func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString("value " + string(rune('a'+*n%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), n)
		fill(t, v.Index(1), n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, n)
		fill(t, value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), n)
		}
	default:
		t.Fatalf("a ruleset has a field of kind %s", v.Kind())
	}
}

func TestEveryFieldOfARulesetIsConverted(t *testing.T) {
	families := map[string]func(*referee.Ruleset){
		"dark_chess": func(r *referee.Ruleset) { r.ArmyChess = nil },
		"army_chess": func(r *referee.Ruleset) { r.DarkChess = nil },
	}
	for family, alone := range families {
		t.Run(family, func(t *testing.T) {
			var full referee.Ruleset
			n := 0
			fill(t, reflect.ValueOf(&full).Elem(), &n)
			alone(&full)
			everyFieldIsConverted(t, full)
		})
	}
}

func everyFieldIsConverted(t *testing.T, full referee.Ruleset) {
	there, err := protoRuleset(&full)
	must(t, err)
	if empty := unset(there.ProtoReflect().Interface(), ""); len(empty) > 0 {
		t.Errorf("fields of the contract that no field of the referee sets: %v", empty)
	}
	back, err := ruleset(there)
	must(t, err)
	if !reflect.DeepEqual(back, full) {
		t.Errorf("there and back:\n%+v\nwant:\n%+v", back, full)
	}
	again, err := protoRuleset(&back)
	must(t, err)
	if !proto.Equal(again, there) {
		t.Error("back and there differs")
	}
}

// unset lists the fields of a message, and of those in it, that are not set.
func unset(m proto.Message, path string) (names []string) {
	r := m.ProtoReflect()
	fields := r.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.ContainingOneof() != nil && r.WhichOneof(f.ContainingOneof()) != nil && !r.Has(f):
			// another family is set
		case !r.Has(f):
			names = append(names, path+string(f.Name()))
		case f.Message() != nil && !f.IsMap() && !f.IsList():
			names = append(names, unset(r.Get(f).Message().Interface(), path+string(f.Name())+".")...)
		}
	}
	return names
}

func TestPresetsKeepTheirHash(t *testing.T) {
	presets, err := referee.LoadPresets()
	must(t, err)
	for _, id := range presets.IDs() {
		there, err := protoRuleset(&presets.Get(id).Ruleset)
		must(t, err)
		back, err := compile(there)
		must(t, err)
		if back.Hash != presets.Get(id).Hash {
			t.Errorf("%s: the hash has changed on the way through the contract", id)
		}
	}
}

func TestUnsoundRulesetsAreRefused(t *testing.T) {
	if _, err := compile(nil); statusReason(err) != "INVALID_RULESET" {
		t.Errorf("no ruleset: %v", err)
	}
	_, err := compile(&refereev1.Ruleset{FirstMover: "dice"})
	st := statusOf(err)
	if fields := violations(st); statusReason(err) != "INVALID_RULESET" || fields["ruleset.first_mover"] == "" || fields["ruleset.family"] == "" {
		t.Errorf("unsound ruleset: %v %v", st, violations(st))
	}
}
