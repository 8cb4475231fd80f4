package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/crypto/ssh"
)

func newKeyLine(t *testing.T) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return line(t, public)
}

func line(t *testing.T, public any) string {
	t.Helper()
	k, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k)))
}

func TestKeys(t *testing.T) {
	ctx := context.Background()
	s, c := newTestService(t, Options{})
	a := s.Accounts()
	first, second := newKeyLine(t), newKeyLine(t)
	k, err := a.AddKey(ctx, "ann", first+" ann@laptop\n")
	if err != nil || k.Comment != "ann@laptop" || k.Type != "ssh-ed25519" {
		t.Fatalf("%+v, %v", k, err)
	}
	if _, err := a.AddKey(ctx, "ann", second); err != nil {
		t.Fatal(err)
	}
	_, err = a.AddKey(ctx, "ann", first+" again")
	wantKind(t, err, pfs.Exist)
	if list, err := a.Keys("ann"); err != nil || len(list) != 2 || list[0] != k {
		t.Errorf("%+v, %v", list, err)
	}
	g, err := s.AuthenticateKey(ctx, "ann", k.Fingerprint)
	if err != nil || g.Name != "ann" || s.Check(g) != nil {
		t.Errorf("%+v, %v", g, err)
	}
	for _, user := range []string{"nobody", ""} {
		_, err = s.AuthenticateKey(ctx, user, k.Fingerprint)
		wantKind(t, err, pfs.Unauthenticated)
	}
	other, err := OpenAccounts(a.path, AccountsOptions{Now: c.Now}) // the file can be read again
	if err != nil {
		t.Fatal(err)
	}
	if err := other.RemoveKey(ctx, "ann", k.Fingerprint); err != nil {
		t.Fatal(err)
	}
	wantKind(t, other.RemoveKey(ctx, "ann", k.Fingerprint), pfs.NotExist)
	c.Advance(DefaultPoll)
	wantKind(t, s.Check(g), pfs.Unauthenticated)
	_, err = s.AuthenticateKey(ctx, "ann", k.Fingerprint)
	wantKind(t, err, pfs.Unauthenticated)
}

func TestWrongKeys(t *testing.T) {
	s, _ := newTestService(t, Options{})
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	good := newKeyLine(t)
	for what, text := range map[string]string{
		"options": `command="id" ` + good, "an option": "no-pty " + good, "two lines": good + "\n" + good, "short RSA": line(t, &short.PublicKey), "nothing": "",
		"text": "hello", "cut": good[:40], "a private key": "-----BEGIN OPENSSH PRIVATE KEY-----", "control characters": good + " a\x1bb", "long": good + strings.Repeat(" x", maxKeyLine),
	} {
		if _, err := s.Accounts().AddKey(context.Background(), "ann", text); pfs.KindOf(err) != pfs.Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
}
