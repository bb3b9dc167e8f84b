package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// pages are the templates and the texts in them.
type pages struct {
	catalogue catalogue
	templates map[string]*template.Template // by page
}

// frame is what every template is given.
type frame struct {
	words
	Title     string
	Here      string // path and query
	Other     language
	OtherHere string // the same page in the other language
	SignedIn  bool
	Body      any
}

// With gives a part of a page to a template of its own.
func (f frame) With(body any) frame {
	f.Body = body
	return f
}

func newPages() pages {
	p := pages{catalogue: loadCatalogue(), templates: map[string]*template.Template{}}
	base := template.Must(template.New("").Funcs(functions()).ParseFS(templateFiles, "templates/base.html", "templates/part_*.html"))
	names, err := fs.Glob(templateFiles, "templates/page_*.html")
	if err != nil {
		panic(err) // the pattern is constant
	}
	for _, name := range names {
		page := strings.TrimSuffix(strings.TrimPrefix(name, "templates/page_"), ".html")
		p.templates[page] = template.Must(template.Must(base.Clone()).ParseFS(templateFiles, name))
	}
	return p
}

func (p pages) draw(out io.Writer, page string, f frame) error {
	t, ok := p.templates[page]
	if !ok {
		return fmt.Errorf("there is no page %q", page)
	}
	return t.ExecuteTemplate(out, "base", f)
}

func functions() template.FuncMap {
	return template.FuncMap{
		"asset": assetPath, "enum": enumKey, "when": when, "instant": instant, "points": points,
		"hex": hex.EncodeToString, "short": short, "add": func(a, b int) int { return a + b },
		"filter": func(name string, values map[string]string) field { return field{Name: name, Value: values[name]} },
		"choose": func(name string, values map[string]string, of map[string][]choice) field {
			return field{name, values[name], of[name]}
		},
		"step": func(name, url string) map[string]string { return map[string]string{"Name": name, "URL": url} },
	}
}

// field is a field of a form.
type field struct {
	Name, Value string
	Choices     []choice
}

// enumKey is the key of the text of a value of the contract's enums, such as
// "end_reason.RESIGNATION".
func enumKey(value protoreflect.Enum) string {
	d := value.Descriptor()
	v := d.Values().ByNumber(value.Number())
	if v == nil {
		return "enum.unknown"
	}
	name := snake(string(d.Name()))
	return name + "." + strings.TrimPrefix(string(v.Name()), strings.ToUpper(name)+"_")
}

// snake writes a name of the contract's as its enums' prefixes have it.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// when writes an instant for people, instant for machines; both in UTC.
func when(t *timestamppb.Timestamp) string {
	if t == nil {
		return "–"
	}
	return t.AsTime().UTC().Format("2006-01-02 15:04:05 UTC")
}

func instant(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().UTC().Format(time.RFC3339Nano)
}

// points writes an amount with its thousands apart.
func points(n int64) string {
	digits := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, digits = "−", digits[1:]
	}
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return sign + strings.Join(append([]string{digits}, groups...), "\u202f")
}

// short is the end of an id, which tells ids of one time apart.
func short(id string) string { return id[max(0, len(id)-8):] }

// assetVersions are the beginnings of the assets' hashes: a new version has a new
// address, so that browsers may keep the old one for ever.
var assetVersions = func() map[string]string {
	versions := map[string]string{}
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // it is embedded
	}
	for _, entry := range entries {
		content, err := assetFiles.ReadFile("assets/" + entry.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(content)
		versions[entry.Name()] = hex.EncodeToString(sum[:6])
	}
	return versions
}()

func assetPath(name string) (string, error) {
	version, ok := assetVersions[name]
	if !ok {
		return "", fmt.Errorf("there is no asset %q", name)
	}
	return root + "assets/" + name + "?v=" + version, nil
}

// assets serves style, script and pictures, to anybody: they tell nothing.
func assets() http.Handler {
	files, err := fs.Sub(assetFiles, "assets")
	if err != nil {
		panic(err) // it is embedded
	}
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version, ok := assetVersions[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.URL.Query().Get("v") == version {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		server.ServeHTTP(w, r)
	})
}
