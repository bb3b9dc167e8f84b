package app

import (
	"encoding/json"

	"referee.example/internal/server"
)

// NewDevToken makes a token with every scope on the platform "dev", and the
// token file that knows it.
func NewDevToken() (token string, file []byte) {
	token, digest := server.NewToken()
	file, err := json.MarshalIndent([]server.Token{{
		Name: "developer", SHA256: digest, Platform: "dev",
		Scopes: []string{server.ScopePlay, server.ScopeAudit, server.ScopeOperate},
	}}, "", "  ")
	if err != nil {
		panic("app: a token cannot be encoded: " + err.Error()) // it holds strings alone
	}
	return token, append(file, '\n')
}
