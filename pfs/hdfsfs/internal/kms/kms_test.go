package kms

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

func info() *hdfsproto.EncryptionInfo {
	return &hdfsproto.EncryptionInfo{
		Suite: proto.Int32(aesCTR), Version: proto.Int32(2), Key: bytes.Repeat([]byte{0xfb}, 16), Iv: bytes.Repeat([]byte{0xff}, 16),
		KeyName: proto.String("k"), KeyVersion: proto.String("k@0"),
	}
}

// serve answers each request with a status and a text, and compares the requests.
func serve(t *testing.T, status int, answer string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var v version
		if err != nil || json.Unmarshal(body, &v) != nil || r.Method != http.MethodPost || r.URL.Path != "/kms/v1/keyversion/k@0/_eek" ||
			r.URL.RawQuery != "eek_op=decrypt&user.name=alice" || v != (version{"k", "_____________________w==", "-_v7-_v7-_v7-_v7-_v7-w=="}) {
			t.Errorf("%s %s: %s", r.Method, r.URL, body)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
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
		{200, `{"name": "EK", "material": "AAECAwQFBgcICQoLDA0ODw"}`, 0},
		{200, `{"material": "AAECAwQFBgcICQoLDA0ODw=="}`, 0},
		{200, `{"material": "AAEC"}`, pfs.Unavailable},
		{200, `{"material": "!"}`, pfs.Unavailable},
		{200, `<html>`, pfs.Unavailable},
		{403, `{"RemoteException": {"message": "no"}}`, pfs.Permission},
		{401, ``, pfs.Permission},
		{500, `{"RemoteException": {"message": "no"}}`, pfs.Unavailable},
	} {
		key, err := c.Key(t.Context(), "kms://http@"+serve(t, tc.status, tc.answer)+"/kms", "alice", info())
		if (err == nil) != (tc.want == 0) || err != nil && pfs.KindOf(err) != tc.want || (err == nil) != (key != nil) {
			t.Errorf("%d %s: %v", tc.status, tc.answer, err)
		}
	}
	port := serve(t, 200, `{"material": "AAECAwQFBgcICQoLDA0ODw"}`)
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
