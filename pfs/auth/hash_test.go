package auth

import (
	"context"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

// cheapHash is an argon2id hash of "correct horse" that costs next to nothing.
const cheapHash = "$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$"

func TestHashIsPHC(t *testing.T) {
	h := newHasher()
	got, err := h.hash(context.Background(), "test", "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if want := "$argon2id$v=19$m=19456,t=2,p=1$"; !strings.HasPrefix(got, want) {
		t.Errorf("hash = %q, want prefix %q", got, want)
	}
	parsed, err := parseHash(got)
	if err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]bool{"correct horse": true, "correct horsf": false, "": false} {
		if ok := parsed.matches([]byte(password)); ok != want {
			t.Errorf("matches(%q) = %v, want %v", password, ok, want)
		}
	}
}

// The reference program: echo -n password | argon2 somesalt -id -t 2 -k 65536 -p 1.
func TestHashOfReference(t *testing.T) {
	const phc = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	h, err := parseHash(phc)
	if err != nil {
		t.Fatal(err)
	}
	if !h.matches([]byte("password")) {
		t.Error("hash of the reference implementation does not match its password")
	}
}

func TestBcrypt(t *testing.T) {
	b, err := bcrypt.GenerateFromPassword([]byte("correct horse"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	h, err := parseHash(string(b))
	if err != nil {
		t.Fatal(err)
	}
	if !h.matches([]byte("correct horse")) || h.matches([]byte("wrong horse")) {
		t.Error("a bcrypt hash matches the wrong password, or not the right one")
	}
}

func TestParseHashRefuses(t *testing.T) {
	const salt, key = "c2FsdHNhbHRzYWx0c2FsdA", "CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	tests := []struct{ name, hash string }{
		{"empty", ""},
		{"plain text", "hunter22"},
		{"argon2i", "$argon2i$v=19$m=64,t=1,p=1$" + salt + "$" + key},
		{"version", "$argon2id$v=16$m=64,t=1,p=1$" + salt + "$" + key},
		{"4 GiB", "$argon2id$v=19$m=4194304,t=1,p=1$" + salt + "$" + key},
		{"endless", "$argon2id$v=19$m=64,t=4000000000,p=1$" + salt + "$" + key},
		{"no pass", "$argon2id$v=19$m=64,t=0,p=1$" + salt + "$" + key},
		{"no lane", "$argon2id$v=19$m=64,t=1,p=0$" + salt + "$" + key},
		{"lanes without memory", "$argon2id$v=19$m=64,t=1,p=9$" + salt + "$" + key},
		{"negative", "$argon2id$v=19$m=-64,t=1,p=1$" + salt + "$" + key},
		{"overflow", "$argon2id$v=19$m=99999999999999999999,t=1,p=1$" + salt + "$" + key},
		{"order", "$argon2id$v=19$t=1,m=64,p=1$" + salt + "$" + key},
		{"more", "$argon2id$v=19$m=64,t=1,p=1,x=1$" + salt + "$" + key},
		{"no salt", "$argon2id$v=19$m=64,t=1,p=1$$" + key},
		{"no key", "$argon2id$v=19$m=64,t=1,p=1$" + salt + "$"},
		{"short key", "$argon2id$v=19$m=64,t=1,p=1$" + salt + "$AAAA"},
		{"bad base64", "$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + key[1:] + "*"},
		{"long key", "$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + strings.Repeat(key[:40], 10)},
		{"bcrypt for days", "$2a$31$" + strings.Repeat("a", 53)},
		{"bcrypt cut", "$2a$10$abc"},
	}
	for _, tt := range tests {
		if _, err := parseHash(tt.hash); err == nil {
			t.Errorf("%s: parseHash(%q) succeeded", tt.name, tt.hash)
		}
	}
}

func TestPasswordLength(t *testing.T) {
	h := newHasher()
	for n, ok := range map[int]bool{0: false, 7: false, 8: true, 1024: true, 1025: false} {
		if _, err := h.hash(context.Background(), "test", strings.Repeat("x", n)); (err == nil) != ok {
			t.Errorf("password of %d bytes: error %v, want ok %v", n, err, ok)
		}
	}
}
