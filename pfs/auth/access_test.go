package auth

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/paddlecloud/pfs/pfs"
)

// sign makes a token that differs from a good one in one respect.
func sign(t *testing.T, method jwt.SigningMethod, key any, c jwt.Claims) string {
	t.Helper()
	token, err := jwt.NewWithClaims(method, c).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestHostileAccessTokens(t *testing.T) {
	s, c := newTestService(t, Options{})
	good := mustLogin(t, s).Access
	account, err := s.accounts.Get("ann")
	if err != nil {
		t.Fatal(err)
	}
	now := c.Now()
	key := s.signer.key
	claim := func(change func(jwt.MapClaims)) jwt.MapClaims {
		m := jwt.MapClaims{"sub": "ann", "gen": account.Generation, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": "x"}
		change(m)
		return m
	}
	same := func(jwt.MapClaims) {}
	if _, err := s.Verify(context.Background(), sign(t, jwt.SigningMethodHS256, key, claim(same))); err != nil {
		t.Fatalf("the token that the others are made from: %v", err)
	}
	parts := strings.Split(good, ".")
	b64 := base64.RawURLEncoding.EncodeToString
	tests := []struct{ why, token string }{
		{"empty", ""},
		{"dots", ".."},
		{"long", strings.Repeat("A", 1<<20)},
		{"not JSON", b64([]byte("x")) + "." + b64([]byte("y")) + "." + parts[2]},
		{"no signature", parts[0] + "." + parts[1] + "."},
		{"other payload", parts[0] + "." + b64([]byte(`{"sub":"root","gen":"x","exp":9999999999}`)) + "." + parts[2]},
		{"alg none", sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claim(same))},
		{"HS512", sign(t, jwt.SigningMethodHS512, key, claim(same))},
		{"other key", sign(t, jwt.SigningMethodHS256, bytes.Repeat([]byte{1}, 32), claim(same))},
		{"empty key", sign(t, jwt.SigningMethodHS256, []byte{}, claim(same))},
		{"no exp", sign(t, jwt.SigningMethodHS256, key, claim(func(m jwt.MapClaims) { delete(m, "exp") }))},
		{"no sub", sign(t, jwt.SigningMethodHS256, key, claim(func(m jwt.MapClaims) { delete(m, "sub") }))},
		{"no gen", sign(t, jwt.SigningMethodHS256, key, claim(func(m jwt.MapClaims) { delete(m, "gen") }))},
		{"other gen", sign(t, jwt.SigningMethodHS256, key, claim(func(m jwt.MapClaims) { m["gen"] = "x" }))},
		{"other user", sign(t, jwt.SigningMethodHS256, key, claim(func(m jwt.MapClaims) { m["sub"] = "bob" }))},
		{"sub no text", sign(t, jwt.SigningMethodHS256, key, claim(func(m jwt.MapClaims) { m["sub"] = 7 }))},
		{"exp no number", sign(t, jwt.SigningMethodHS256, key, claim(func(m jwt.MapClaims) { m["exp"] = "never" }))},
		{"from the future", sign(t, jwt.SigningMethodHS256, key, claim(func(m jwt.MapClaims) { m["iat"] = now.Add(time.Hour).Unix() }))},
		{"trailing bits", good[:len(good)-1] + otherBits(good[len(good)-1])},
		{"padded", good + "="},
	}
	for _, tt := range tests {
		id, err := s.Verify(context.Background(), tt.token)
		if err == nil || pfs.KindOf(err) != pfs.Unauthenticated || id != (Identity{}) {
			t.Errorf("%s: Verify = %+v, %v; want Unauthenticated", tt.why, id, err)
		}
	}
}

// otherBits returns another last character of a 32-byte signature that differs only in the bits
// beyond its end.
func otherBits(c byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(alphabet[strings.IndexByte(alphabet, c)^1])
}

// No token passes but one whose signature the key makes.
func FuzzCheckAccess(f *testing.F) {
	c := newClock()
	s := newSigner(bytes.Repeat([]byte{7}, keySize), time.Minute, c.Now)
	good, _, err := s.issue(Account{Identity: Identity{Name: "ann"}, Generation: "g"}, "")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		got, err := s.check("test", token)
		if err != nil {
			return
		}
		dot := strings.LastIndexByte(token, '.')
		mac := hmac.New(sha256.New, s.key)
		mac.Write([]byte(token[:dot]))
		if want := base64.RawURLEncoding.EncodeToString(mac.Sum(nil)); token[dot+1:] != want {
			t.Errorf("token %q passes as %+v", token, got)
		}
	})
}

func FuzzParseRefresh(f *testing.F) {
	f.Add(newRefreshToken("ann").String())
	f.Add("../../etc/passwd")
	f.Fuzz(func(t *testing.T, s string) {
		token, ok := parseRefresh(s)
		if ok && token.String() != s {
			t.Errorf("%q and %q are one token", s, token)
		}
	})
}
