package console

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	refereev1 "referee.example/proto/referee/v1"
)

// verbs are the places in a text, such as %s or %[2]v.
var verbs = regexp.MustCompile(`%(\[\d+\])?[a-z]`)

// TestTextsAreInBothLanguages: each text is there in each language, with the same
// places in it, and no catalogue has keys that the other lacks.
func TestTextsAreInBothLanguages(t *testing.T) {
	for key, texts := range loadCatalogue() {
		var places [][]string
		for _, l := range languages {
			text, ok := texts[l.Tag]
			if !ok || strings.TrimSpace(text) == "" {
				t.Errorf("%s is missing in %s", key, l.Tag)
			}
			in := verbs.FindAllString(text, -1)
			slices.Sort(in)
			places = append(places, in)
		}
		if len(texts) != len(languages) {
			t.Errorf("%s has %d texts", key, len(texts))
		}
		if !slices.Equal(places[0], places[1]) {
			t.Errorf("%s has the places %v in one language and %v in the other", key, places[0], places[1])
		}
	}
}

var (
	// asked finds a text that a template or the code asks for by its whole key.
	asked = regexp.MustCompile(`(?:\.T |\.T\(|Key: +|ProofKey = nil, )"([a-z_]+\.[A-Za-z_]+)"|"((?:login|failure|verification|game|board|counter|piece|army)\.[a-z_]+)"`)
	// built finds the beginnings of keys that are put together.
	built = regexp.MustCompile(`"([a-z_]+\.)(?:%s|")|"([a-z_]+)\.%s`)
)

// TestEveryTextIsUsed finds in the sources what they ask for: nothing is missing
// and nothing is left over.
func TestEveryTextIsUsed(t *testing.T) {
	texts := loadCatalogue()
	used := map[string]bool{}
	var prefixes []string
	read := func(name string, content []byte) {
		for _, found := range asked.FindAllStringSubmatch(string(content), -1) {
			key := found[1] + found[2]
			used[key] = true
			if _, ok := texts[key]; !ok {
				t.Errorf("%s asks for %q, which is not there", name, key)
			}
		}
		for _, found := range built.FindAllStringSubmatch(string(content), -1) {
			prefixes = append(prefixes, strings.TrimSuffix(found[1]+found[2], ".")+".")
		}
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		read(name, content)
	}
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil || len(names) < 8 {
		t.Fatalf("%d templates, %v", len(names), err)
	}
	for _, name := range names {
		content, err := templateFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		read(name, content)
	}
	for _, enum := range enums() {
		prefixes = append(prefixes, snake(string(enum.Name()))+".")
	}
	for key := range texts {
		if !used[key] && !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) &&
			!strings.HasSuffix(key, "_about") && key != "enum.unknown" {
			t.Errorf("nothing asks for %q", key)
		}
	}
}

// enums are those of the contract that pages show.
func enums() []protoreflect.EnumDescriptor {
	return []protoreflect.EnumDescriptor{
		refereev1.EndReason(0).Descriptor(), refereev1.MatchStatus(0).Descriptor(), refereev1.GameStatus(0).Descriptor(),
		refereev1.EventKind(0).Descriptor(), refereev1.ResultFilter(0).Descriptor(),
	}
}

// TestEveryValueHasAText: what the contract can say the pages can say.
func TestEveryValueHasAText(t *testing.T) {
	say := words{languages[0], loadCatalogue()}
	missing := func(key string) {
		if strings.Contains(say.T(key), "⟦") {
			t.Errorf("%s has no text", key)
		}
	}
	for _, enum := range enums() {
		for i := range enum.Values().Len() {
			name := snake(string(enum.Name()))
			missing(name + "." + strings.TrimPrefix(string(enum.Values().Get(i).Name()), strings.ToUpper(name)+"_"))
		}
	}
	if got := enumKey(refereev1.EndReason_END_REASON_TIME); got != "end_reason.TIME" {
		t.Errorf("the key of END_REASON_TIME is %q", got)
	}
	if got := enumKey(refereev1.EndReason(99)); got != "enum.unknown" {
		t.Errorf("the key of a value that is not known is %q", got)
	}
	for _, name := range filterFields {
		missing("filter." + name)
	}
	for _, why := range []string{"stake", "fee", "scene_fee", "disconnection_penalty"} {
		missing("settlement." + why)
	}
	for _, p := range darkPieces {
		missing("colour." + p.Colour)
		missing(p.Name)
	}
	missing("feat.great_merit")
}

func TestLanguageOfARequest(t *testing.T) {
	p := pages{catalogue: loadCatalogue()}
	for _, c := range []struct{ query, cookie, accepts, want string }{
		{"", "", "", "en"},
		{"", "", "zh-CN,zh;q=0.9,en;q=0.8", "zh-Hant"},
		{"", "", "fr, en-GB;q=0.7, zh;q=0.3", "en"},
		{"", "", "de,fr", "en"},
		{"", "zh-Hant", "en", "zh-Hant"},
		{"", "tlh", "zh", "zh-Hant"},
		{"en", "zh-Hant", "zh", "en"},
		{"xx", "zh-Hant", "en", "zh-Hant"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/console/login?lang="+c.query, nil)
		r.Header.Set("Accept-Language", c.accepts)
		r.AddCookie(&http.Cookie{Name: languageCookie, Value: c.cookie})
		if got := p.words(r).Lang.Tag; got != c.want {
			t.Errorf("%+v is answered in %s", c, got)
		}
	}
}
