package console

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// A language that the pages speak.
type language struct {
	Tag  string // BCP 47
	Name string // in itself
}

// The languages; the first is the default.
var languages = []language{{"en", "English"}, {"zh-Hant", "中文"}}

const (
	languageParameter = "lang"
	languageCookie    = "referee_language"
	languageMemory    = 365 * 24 * 60 * 60 // seconds
)

//go:embed messages.json
var messagesJSON []byte

// catalogue has each text by its key and the tag of its language.
type catalogue map[string]map[string]string

func loadCatalogue() catalogue {
	var c catalogue
	if err := json.Unmarshal(messagesJSON, &c); err != nil {
		panic("console: messages.json: " + err.Error()) // it is embedded, and tested
	}
	return c
}

// words speak one language.
type words struct {
	Lang      language
	catalogue catalogue
}

// T returns a text with its places filled in.
func (w words) T(key string, values ...any) string {
	text, ok := w.catalogue[key][w.Lang.Tag]
	if !ok {
		return "⟦" + key + "⟧" // a test looks for these
	}
	if len(values) == 0 {
		return text
	}
	return fmt.Sprintf(text, values...)
}

// other is the language to switch to.
func (w words) other() language {
	for _, l := range languages {
		if l != w.Lang {
			return l
		}
	}
	return w.Lang
}

// remembering keeps the language that a request names.
func remembering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if named, ok := languageOf(r.URL.Query().Get(languageParameter)); ok {
			http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure but for a browser on this machine, where there is no TLS
				Name: languageCookie, Value: named.Tag, Path: root, MaxAge: languageMemory,
				HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: !fromThisMachine(r),
			})
		}
		next.ServeHTTP(w, r)
	})
}

// words returns those of a request: of the language that it names, else of the
// one remembered, else of the one that the browser prefers.
func (p pages) words(r *http.Request) words {
	if named, ok := languageOf(r.URL.Query().Get(languageParameter)); ok {
		return words{named, p.catalogue}
	}
	if set, err := r.Cookie(languageCookie); err == nil {
		if remembered, ok := languageOf(set.Value); ok {
			return words{remembered, p.catalogue}
		}
	}
	for wanted := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, _, _ := strings.Cut(strings.TrimSpace(wanted), ";")
		for _, l := range languages {
			if primary(tag) == primary(l.Tag) {
				return words{l, p.catalogue}
			}
		}
	}
	return words{languages[0], p.catalogue}
}

func languageOf(tag string) (language, bool) {
	for _, l := range languages {
		if l.Tag == tag {
			return l, true
		}
	}
	return language{}, false
}

func primary(tag string) string {
	first, _, _ := strings.Cut(strings.ToLower(tag), "-")
	return first
}

// withQuery returns a query with one parameter set, as a link that stays on the
// page it is on: what stands in the path can't lead it anywhere.
func withQuery(u *url.URL, name, value string) string {
	query := u.Query()
	query.Set(name, value)
	return "?" + query.Encode()
}
