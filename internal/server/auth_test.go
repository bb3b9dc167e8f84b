package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"
)

func TestTokenFiles(t *testing.T) {
	digest := strings.Repeat("ab", 32)
	const good = `[{"name":"n","sha256":"%s","platform":"p","scopes":["play"]}]`
	for name, test := range map[string]struct{ file, fault string }{
		"good":                   {fmt.Sprintf(good, digest), ""},
		"none":                   {`[]`, ""},
		"every platform, audit":  {`[{"name":"n","sha256":"` + digest + `","platform":"*","scopes":["audit","operate"]}]`, ""},
		"player":                 {`[{"name":"n","sha256":"` + digest + `","platform":"p","scopes":["play"],"player":"ann"}]`, ""},
		"short hash":             {fmt.Sprintf(good, "abcd"), "sha256"},
		"no hexadecimal":         {fmt.Sprintf(good, strings.Repeat("xy", 32)), "sha256"},
		"unknown field":          {`[{"name":"n","token":"t"}]`, "unknown field"},
		"not an array":           {`{}`, "token file"},
		"two arrays":             {`[] []`, "one JSON array"},
		"no name":                {`[{"sha256":"` + digest + `","platform":"p","scopes":["play"]}]`, "name"},
		"no platform":            {`[{"name":"n","sha256":"` + digest + `","scopes":["play"]}]`, "platform"},
		"no scope":               {`[{"name":"n","sha256":"` + digest + `","platform":"p"}]`, "scopes"},
		"unknown scope":          {`[{"name":"n","sha256":"` + digest + `","platform":"p","scopes":["root"]}]`, "scopes"},
		"every platform, play":   {`[{"name":"n","sha256":"` + digest + `","platform":"*","scopes":["play"]}]`, "must name its platform"},
		"player, but an auditor": {`[{"name":"n","sha256":"` + digest + `","platform":"p","scopes":["audit"],"player":"ann"}]`, "for play only"},
		"twice": {`[{"name":"n","sha256":"` + digest + `","platform":"p","scopes":["play"]},
			{"name":"m","sha256":"` + digest + `","platform":"p","scopes":["play"]}]`, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseTokens([]byte(test.file))
			if test.fault == "" && err != nil || test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)) {
				t.Errorf("got %v, want %q", err, test.fault)
			}
		})
	}
}

func TestFindToken(t *testing.T) {
	access := NewAccess(knownTokens(t), nil)
	with := func(values ...string) context.Context {
		header := metadata.MD{}
		header.Append("authorization", values...)
		return metadata.NewIncomingContext(t.Context(), header)
	}
	if token, err := access.find(with("Bearer "+secretOf("east")), time.Time{}); err != nil || token.Name != "east" {
		t.Errorf("found %v, %v", token, err)
	}
	if _, err := access.find(with("bearer "+secretOf("east")), time.Time{}); err != nil {
		t.Error("the scheme's case matters")
	}
	for _, values := range [][]string{
		{}, {""}, {"Bearer"}, {"Bearer "}, {secretOf("east")}, {"Basic " + secretOf("east")}, {"Bearer  " + secretOf("east")},
		{"Bearer " + secretOf("nobody")}, {"Bearer " + secretOf("east"), "Bearer " + secretOf("west")},
	} {
		if token, err := access.find(with(values...), time.Time{}); !errors.Is(err, errUnknownToken) {
			t.Errorf("%q found %v, %v", values, token, err)
		}
	}
}

func TestNewToken(t *testing.T) {
	token, digest := NewToken()
	other, _ := NewToken()
	sum := sha256.Sum256([]byte(token))
	if token == other || len(token) < 43 || hex.EncodeToString(sum[:]) != digest {
		t.Errorf("token %q with digest %q, then %q", token, digest, other)
	}
	if _, err := NewTokens([]Token{{Name: "dev", SHA256: digest, Platform: "dev", Scopes: []string{ScopePlay}}}); err != nil {
		t.Error(err)
	}
}
