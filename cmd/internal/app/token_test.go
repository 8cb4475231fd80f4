package app

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

// TestTokenFileNamesAccount checks that the account of a mount comes from the token and not from the name of its file,
// and that a token of another account is refused later.
func TestTokenFileNamesAccount(t *testing.T) {
	token := func(account string) string {
		encode := base64.RawURLEncoding.EncodeToString
		return encode([]byte(`{"alg":"HS256"}`)) + "." + encode(fmt.Appendf(nil, `{"sub":%q,"gen":"1"}`, account)) + ".signature"
	}
	asked := 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer service.Close()
	a := New(&Main{Stdout: io.Discard, Stderr: io.Discard})
	file := filepath.Join(t.TempDir(), "token")
	open := func(name, text string) (pfs.FileSystem, string, error) {
		if err := os.WriteFile(name, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		fsys, _, user, err := a.Remotes.Tree(t.Context(), Top, Service{Endpoint: service.URL, TokenFile: name})
		return fsys, user, err
	}
	for _, name := range []string{file, file + "2"} {
		if _, user, err := open(name, token("alice")); user != "alice" || err != nil {
			t.Errorf("the account of %s is %q, %v", name, user, err)
		}
	}
	for _, text := range []string{"", "wrong", "a.b.c", token("")} {
		if _, user, err := open(file, text); pfs.KindOf(err) != pfs.Unauthenticated {
			t.Errorf("the token %q is of %q, %v", text, user, err)
		}
	}
	fsys, _, err := open(file, token("alice"))
	if err != nil || asked > 0 {
		t.Fatalf("%v, after %d requests", err, asked)
	}
	if err := os.WriteFile(file, []byte(token("bob")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.Stat(t.Context(), Top); pfs.KindOf(err) != pfs.Unauthenticated || !strings.Contains(err.Error(), `a mount of "alice"`) || asked > 0 {
		t.Errorf("a token of bob: %v, after %d requests", err, asked)
	}
}
