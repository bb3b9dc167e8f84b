package deal

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Whatever prints a secret's owner, or a struct around it, prints none of it.
func TestSecretsNeverPrint(t *testing.T) {
	m := sample()
	tree := m.Tree(m.Shuffle(banqiDeck()))
	stream := m.Stream(LabelDeal)
	next := m.Stream(LabelDeal).Uint64()
	ring := keyring(t, "k:"+testKey(0xa7))
	owners := map[string]any{
		"seed": m.Server, "pointer to a seed": &m.Server, "material": m, "pointer to material": &m,
		"tree": tree, "stream": stream, "keyring": ring, "pointer to a keyring": &ring,
		"around them": struct {
			M Material
			T Tree
			S *Stream
			K Keyring
		}{m, tree, stream, ring},
	}
	secrets := []string{
		hex.EncodeToString(m.Server[:4]), strings.Trim(fmt.Sprint(m.Server[:4]), "[]"),
		strings.Trim(fmt.Sprint(tree.salts[:4]), "[]"), hex.EncodeToString(tree.salts[:4]),
		strings.Trim(fmt.Sprint(tree.pieces[:4]), "[]"), hex.EncodeToString(tree.pieces[:4]),
		fmt.Sprint(next), "167 167 167", "a7a7a7", testKey(0xa7)[:8], "1, 8, 15", "1,8,15", "0x1, 0x8",
	}
	for name, owner := range owners {
		texts := []string{fmt.Sprint(owner), fmt.Sprintln(owner)}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c", "%b", "%o", "%U"} {
			texts = append(texts, fmt.Sprintf(verb, owner))
		}
		encoded, err := json.Marshal(owner)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range append(texts, string(encoded)) {
			for _, secret := range secrets {
				if strings.Contains(strings.ToLower(text), secret) {
					t.Errorf("%s prints %q: %s", name, secret, text)
				}
			}
			if !strings.Contains(text, redaction) {
				t.Errorf("%s prints no %s: %s", name, redaction, text)
			}
		}
	}
}
