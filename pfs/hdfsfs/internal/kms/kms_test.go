package kms

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/sasl"
	"google.golang.org/protobuf/proto"
)

func info() *hdfsproto.EncryptionInfo {
	return &hdfsproto.EncryptionInfo{
		Suite: proto.Int32(aesCTR), Version: proto.Int32(2), Key: bytes.Repeat([]byte{0xfb}, 16), Iv: bytes.Repeat([]byte{0xff}, 16),
		KeyName: proto.String("k"), KeyVersion: proto.String("k@0"),
	}
}

// good is an answer with a key.
const good = `{"name": "EK", "material": "AAECAwQFBgcICQoLDA0ODw"}`

// answering answers each request with a status and a text, and compares the requests.
func answering(t *testing.T, status int, answer string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var v version
		if err != nil || json.Unmarshal(body, &v) != nil || r.Method != http.MethodPost || r.URL.Path != "/kms/v1/keyversion/k@0/_eek" ||
			r.URL.RawQuery != "eek_op=decrypt&user.name=alice" || v != (version{"k", "_____________________w==", "-_v7-_v7-_v7-_v7-_v7-w=="}) {
			t.Errorf("%s %s: %s", r.Method, r.URL, body)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	})
}

// serve returns the address of a server.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// TestKey asks the second server when the first is gone, and reports each wrong answer.
func TestKey(t *testing.T) {
	c := &Client{Timeout: 10 * time.Second}
	for _, tc := range []struct {
		status int
		answer string
		want   pfs.Kind // 0: none
	}{
		{200, good, 0},
		{200, `{"material": "AAECAwQFBgcICQoLDA0ODw=="}`, 0},
		{200, `{"material": "AAEC"}`, pfs.Unavailable},
		{200, `{"material": "!"}`, pfs.Unavailable},
		{200, `<html>`, pfs.Unavailable},
		{403, `{"RemoteException": {"message": "no"}}`, pfs.Permission},
		{401, ``, pfs.Permission},
		{500, `{"RemoteException": {"message": "no"}}`, pfs.Unavailable},
	} {
		key, err := c.Key(t.Context(), "kms://http@"+serve(t, answering(t, tc.status, tc.answer))+"/kms", "alice", info())
		if (err == nil) != (tc.want == 0) || err != nil && pfs.KindOf(err) != tc.want || (err == nil) != (key != nil) {
			t.Errorf("%d %s: %v", tc.status, tc.answer, err)
		}
	}
	port := serve(t, answering(t, 200, good))
	port = port[strings.LastIndex(port, ":"):]
	if _, err := c.Key(t.Context(), "kms://http@127.0.0.2;127.0.0.1"+port+"/kms", "alice", info()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Key(ctx, "kms://http@127.0.0.1"+port+"/kms", "alice", info()); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	for _, provider := range []string{"", "jceks://file@/k", "kms://http@host/kms", "kms://ftp@host:1/kms", "kms://host:1/kms"} {
		if _, err := c.Key(t.Context(), provider, "alice", info()); pfs.KindOf(err) != pfs.Unsupported {
			t.Errorf("%q: %v", provider, err)
		}
	}
	other := info()
	other.Suite = proto.Int32(3)
	if _, err := c.Key(t.Context(), "kms://http@127.0.0.1"+port+"/kms", "alice", other); pfs.KindOf(err) != pfs.Unsupported {
		t.Errorf("another suite: %v", err)
	}
}

// TestKeyIsKept asks once for a file and a user. A right that is taken away ends when the key is too old.
func TestKeyIsKept(t *testing.T) {
	asked, status := 0, 200
	at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.WriteHeader(status)
		_, _ = io.WriteString(w, good)
	}))
	c := &Client{Timeout: 10 * time.Second}
	ask := func(user string, info *hdfsproto.EncryptionInfo, want int) error {
		t.Helper()
		_, err := c.Key(t.Context(), "kms://http@"+at+"/kms", user, info)
		if asked != want {
			t.Errorf("the KMS was asked %d times instead of %d", asked, want)
		}
		return err
	}
	other := info()
	other.Iv[0]--
	if err := errors.Join(ask("alice", info(), 1), ask("alice", info(), 1), ask("bob", info(), 2), ask("alice", other, 3)); err != nil {
		t.Fatal(err)
	}
	status = 403
	if err := ask("alice", info(), 3); err != nil {
		t.Error(err)
	}
	for q, a := range c.keys {
		if left := time.Until(a.until); left < maxAge/2 || left > maxAge {
			t.Errorf("a key is kept for %v", left)
		}
		a.until = time.Now()
		c.keys[q] = a
	}
	for n := 4; n < 6; n++ {
		if err := ask("alice", info(), n); pfs.KindOf(err) != pfs.Permission {
			t.Errorf("a right that was taken away: %v", err)
		}
	}
	for n := range 2 * maxKeys {
		c.keep(question{iv: strconv.Itoa(n)}, answer{until: time.Now().Add(time.Hour)})
		if len(c.keys) > maxKeys {
			t.Fatalf("%d keys are kept", len(c.keys))
		}
	}
}

// exchange is a mechanism whose server proves itself with a word.
type exchange struct{ sasl.Mechanism }

func (exchange) Start([]byte) ([]byte, error) { return []byte("request"), nil }

func (exchange) Next(challenge []byte) ([]byte, error) {
	if string(challenge) != "proof" {
		return nil, errors.New("wrong proof")
	}
	return []byte{}, nil
}

// TestServerProvesItself takes a key only from a server that proves who it is.
func TestServerProvesItself(t *testing.T) {
	for _, tc := range []struct {
		headers []string
		want    string
	}{
		{[]string{"Negotiate cHJvb2Y="}, ""},
		{[]string{"Basic", "Negotiate cHJvb2Y="}, ""},
		{[]string{"Negotiate cHJvb2Z4"}, "wrong proof"},
		{[]string{"Negotiate !"}, "illegal base64"},
		{[]string{"Negotiate"}, "no token"},
		{nil, "no token"},
	} {
		at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("Authorization"); got != "Negotiate cmVxdWVzdA==" || r.URL.Query().Has("user.name") {
				t.Errorf("%s comes with %q", r.URL, got)
			}
			w.Header()["Www-Authenticate"] = tc.headers
			_, _ = io.WriteString(w, good)
		}))
		c := &Client{Timeout: 10 * time.Second, Kerberos: func(principal string) (sasl.Mechanism, error) {
			if principal != "HTTP/127.0.0.1" {
				t.Errorf("the principal is %s", principal)
			}
			return exchange{}, nil
		}}
		key, err := c.Key(t.Context(), "kms://http@"+at+"/kms", "alice", info())
		if tc.want == "" && err == nil && key != nil {
			continue
		}
		if tc.want == "" || pfs.KindOf(err) != pfs.Unavailable || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v", tc.headers, err)
		}
	}
}

// TestHTTPS asks a server with a certificate of an authority of its own.
func TestHTTPS(t *testing.T) {
	for name, trusted := range map[string]bool{"trusted": true, "foreign": false} {
		t.Run(name, func(t *testing.T) {
			if !testbed.InOwnProcess(t) { // the authorities of a process are read once
				return
			}
			s := httptest.NewUnstartedServer(answering(t, 200, good))
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.StartTLS()
			defer s.Close()
			if trusted {
				ca := filepath.Join(t.TempDir(), "ca.pem")
				t.Setenv("SSL_CERT_FILE", ca)
				if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c := &Client{Timeout: 10 * time.Second}
			key, err := c.Key(t.Context(), "kms://https@"+strings.TrimPrefix(s.URL, "https://")+"/kms", "alice", info())
			switch {
			case trusted && (err != nil || key == nil):
				t.Error(err)
			case !trusted && (pfs.KindOf(err) != pfs.Unavailable || !strings.Contains(err.Error(), s.URL) || !strings.Contains(err.Error(), "SSL_CERT_FILE")):
				t.Errorf("the certificate is refused with %v", err)
			}
		})
	}
}

// TestCrypt compares ranges with the whole, where the counter passes its end.
func TestCrypt(t *testing.T) {
	secret := bytes.Repeat([]byte{7}, 32)
	key, err := newKey(secret, info().Iv)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 1000)
	cipher.NewCTR(block, info().Iv).XORKeyStream(want, want)
	for off := range 40 {
		for _, n := range []int{0, 1, 15, 16, 17, 900} {
			got := make([]byte, n)
			key.Crypt(got, got, int64(off))
			if !bytes.Equal(got, want[off:off+n]) {
				t.Fatalf("%d bytes at %d", n, off)
			}
		}
	}
}
