package auth

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

func mustLink(t *testing.T, s *Service, name pfs.Path, life time.Duration) Link {
	t.Helper()
	account, err := s.accounts.Get("ann")
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.MakeLink(t.Context(), Grant{Account: account}, name, life)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// wantNoLink checks that a token gets the one answer of links that are not valid.
func wantNoLink(t *testing.T, s *Service, what, token string) {
	t.Helper()
	_, _, err := s.OpenLink(t.Context(), token)
	wantKind(t, err, pfs.NotExist)
	if want := noLink("auth.OpenLink"); err == nil || err.Error() != want.Error() {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func TestLinks(t *testing.T) {
	s, c := newTestService(t, Options{})
	l := mustLink(t, s, "/pfs/dc/home/ann/f", time.Hour)
	other := mustLink(t, s, "/pfs/dc/home/ann/g", 2*time.Hour)
	got, grant, err := s.OpenLink(t.Context(), l.Token)
	if err != nil || got != l || grant.Name != "ann" {
		t.Fatalf("%+v of %q, %v; want %+v", got, grant.Name, err, l)
	}
	if err := s.Check(grant); err != nil {
		t.Error(err)
	}
	if links, err := s.Links(t.Context(), "ann"); err != nil || len(links) != 2 {
		t.Errorf("%+v, %v", links, err)
	}
	if links, err := s.Links(t.Context(), "bob"); err != nil || len(links) != 0 {
		t.Errorf("%+v, %v", links, err)
	}
	replica, err := Open(t.Context(), filepath.Dir(s.links), Options{Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := replica.OpenLink(t.Context(), l.Token); err != nil {
		t.Errorf("another replica: %v", err)
	}

	b, _ := base64.RawURLEncoding.DecodeString(l.Token)
	for i := range b {
		b[i] ^= 1
		wantNoLink(t, s, "changed token", base64.RawURLEncoding.EncodeToString(b))
		b[i] ^= 1
	}
	for _, token := range []string{"", "x", l.Token[1:], l.Token + "A", l.Token[:63] + "!", "../../../../../../../../../../../../../../../../../../etc/passwd.x"} {
		wantNoLink(t, s, "no token", token)
	}
	if _, err := s.RevokeLink(t.Context(), "bob", l.ID); pfs.KindOf(err) != pfs.NotExist {
		t.Errorf("another user revokes it: %v", err)
	}
	if _, err := s.RevokeLink(t.Context(), "ann", "../../accounts.yaml"); pfs.KindOf(err) != pfs.NotExist {
		t.Error(err)
	}
	if got, err := s.RevokeLink(t.Context(), "ann", l.ID); err != nil || got != l {
		t.Errorf("%+v, %v", got, err)
	}
	wantNoLink(t, s, "revoked", l.Token)
	wantNoLink(t, replica, "revoked elsewhere", l.Token)
	c.Advance(2 * time.Hour)
	wantNoLink(t, s, "expired", other.Token)
	if n, err := s.Sweep(t.Context()); err != nil || n != 1 {
		t.Errorf("swept %d, %v", n, err)
	}
}

func TestLinksEndWithTheAccount(t *testing.T) {
	s, _ := newTestService(t, Options{})
	l := mustLink(t, s, "/f", time.Hour)
	if err := s.accounts.SetPassword(t.Context(), "ann", "another horse"); err != nil {
		t.Fatal(err)
	}
	wantNoLink(t, s, "after a new password", l.Token)
	l = mustLink(t, s, "/f", time.Hour)
	if err := s.accounts.Remove(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	wantNoLink(t, s, "of a removed account", l.Token)
	mustAdd(t, cheap(s.Accounts()), NewAccount{Name: "ann"})
	wantNoLink(t, s, "of an earlier account", l.Token)
}

func TestTooManyLinks(t *testing.T) {
	s, c := newTestService(t, Options{})
	for range MaxLinks {
		mustLink(t, s, "/f", time.Hour)
	}
	account, _ := s.accounts.Get("ann")
	_, err := s.MakeLink(t.Context(), Grant{Account: account}, "/f", time.Hour)
	wantKind(t, err, pfs.Limit)
	_, err = s.MakeLink(t.Context(), Grant{Account: account}, "/f", MaxLinkLife+1)
	wantKind(t, err, pfs.Invalid)
	c.Advance(time.Hour)
	mustLink(t, s, "/f", time.Hour)
	none := s.linkToken("ann", nil)
	if entries, err := os.ReadDir(filepath.Join(s.links, none.dir())); err != nil || len(entries) != 1 {
		t.Errorf("%d files, %v", len(entries), err)
	}
}
