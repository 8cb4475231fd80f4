package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

const uploadID = "0123456789abcdef"

// TestSend uploads a file as the script does: interrupted after the first leaf, compared, continued at another
// replica, and committed.
func TestSend(t *testing.T) {
	store, err := localfs.New(t.TempDir(), localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, store)
	s.login(t, gatewaytest.Alice)
	content := string(pfstest.Pattern(1, 2*pfs.ChunkSize+1000))
	name := home("new", "folder", "big.bin")
	begin := fmt.Sprintf("id=%s&size=%d&below=%s", uploadID, len(content), home())
	if m := s.send(t, http.MethodPost, "begin", name, begin, "").want(t, http.StatusOK).message(t); m.Resumed || m.Exists || m.Unit != pfs.ChunkSize {
		t.Errorf("the beginning of an upload: %+v", m)
	}
	leaf := func(n int) string { return content[n*pfs.ChunkSize : min(len(content), (n+1)*pfs.ChunkSize)] }
	put := func(n int) string {
		t.Helper()
		query := fmt.Sprintf("id=%s&off=%d", uploadID, n*pfs.ChunkSize)
		return s.send(t, http.MethodPut, "leaf", name, query, leaf(n)).want(t, http.StatusOK).message(t).Leaf
	}
	first := put(0)

	other := &site{Service: s.Replica(t), csrf: s.csrf}
	other.serve(t)
	other.client.Jar = s.client.Jar
	s = other
	if m := s.send(t, http.MethodPost, "begin", name, begin, "").want(t, http.StatusOK).message(t); !m.Resumed {
		t.Errorf("the continuation of an upload: %+v", m)
	}
	query := func(n int) string {
		return fmt.Sprintf("id=%s&off=%d&len=%d", uploadID, n*pfs.ChunkSize, len(leaf(n)))
	}
	there := s.send(t, http.MethodGet, "leaf", name, query(0), "").want(t, http.StatusOK).message(t)
	sum := sha256.Sum256([]byte(leaf(0)))
	if there.Size != pfs.ChunkSize || there.SHA256 != hex.EncodeToString(sum[:]) || there.Leaf != first {
		t.Errorf("the staged leaf is %+v, sent was %s", there, first)
	}
	if got := s.send(t, http.MethodGet, "leaf", name, query(1), ""); got.StatusCode == http.StatusOK && got.message(t).Size != 0 {
		t.Errorf("a leaf that was not sent: %s %s", got.Status, got.body)
	}

	damaged := s.do(t, http.MethodPut, address("send/leaf", name)+"?"+query(1), strings.NewReader(leaf(1)), csrfHeader, s.csrf, sumHeader, hex.EncodeToString(sum[:]))
	if m := damaged.want(t, http.StatusUnprocessableEntity).message(t); m.Kind != pfs.Integrity.Error() {
		t.Errorf("a leaf with another SHA-256: %s", damaged.body)
	}
	leaves := []string{there.Leaf, put(1), put(2)}
	commit := fmt.Sprintf("id=%s&size=%d&time=1700000000123", uploadID, len(content))
	wrong := []string{leaves[0], leaves[0], leaves[2]}
	s.send(t, http.MethodPost, "commit", name, commit, strings.Join(wrong, "")).want(t, http.StatusUnprocessableEntity)
	s.send(t, http.MethodPost, "commit", name, commit, leaves[0]).want(t, http.StatusBadRequest)
	for range 2 { // the answer to the first may be lost
		s.send(t, http.MethodPost, "commit", name, commit, strings.Join(leaves, "")).want(t, http.StatusOK)
	}
	tree := s.tree(t, gatewaytest.Alice)
	pfstest.WantFile(t, tree, name, []byte(content))
	if info := pfstest.MustStat(t, tree, name); info.ModTime.UnixMilli() != 1700000000123 || info.Digest == "" {
		t.Errorf("the uploaded file: %+v", info)
	}
	if m := s.send(t, http.MethodPost, "begin", name, begin, "").want(t, http.StatusOK).message(t); !m.Exists {
		t.Errorf("an upload to a name that is taken: %+v", m)
	}
	s.send(t, http.MethodPost, "begin", name, "id=zzzzzzzz1&size=3&replace=yes", "").want(t, http.StatusOK)
	s.send(t, http.MethodPut, "leaf", name, "id=zzzzzzzz1&off=0", "new").want(t, http.StatusOK)
	s.send(t, http.MethodPost, "discard", name, "id=zzzzzzzz1", "").want(t, http.StatusOK)
	s.send(t, http.MethodPost, "begin", home("empty"), "id=zzzzzzzz2&size=0", "").want(t, http.StatusOK)
	s.send(t, http.MethodPost, "commit", home("empty"), "id=zzzzzzzz2&size=0", "").want(t, http.StatusOK)
	pfstest.WantFile(t, tree, home("empty"), nil)
	s.send(t, http.MethodPost, "mkdir", home("a", "b"), "below="+string(home()), "").want(t, http.StatusOK)
	s.send(t, http.MethodPost, "begin", home("x"), "id=zzzzzzzz3&size=1&below=/pfs/dc/home/bob", "").want(t, http.StatusBadRequest)
	if log := s.Log(); !strings.Contains(log, "method=commit") || strings.Count(log, `path="`) == 0 && !strings.Contains(log, "path=") {
		t.Errorf("the audit log has no line about the upload:\n%s", log)
	}
}

// form returns a form with files, as a browser sends it.
func form(token string, files map[string]string, replace bool) (body, kind string) {
	var b strings.Builder
	w := multipart.NewWriter(&b)
	_ = w.WriteField(csrfField, token)
	if replace {
		_ = w.WriteField("replace", "yes")
	}
	for name, content := range files {
		part, _ := w.CreateFormFile("file", name)
		_, _ = io.WriteString(part, content)
	}
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

func TestForm(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	s.login(t, gatewaytest.Alice)
	tree := s.tree(t, gatewaytest.Alice)
	upload := func(body, kind string) answer {
		t.Helper()
		return s.do(t, http.MethodPost, address("upload", home()), strings.NewReader(body), "Content-Type", kind)
	}
	large := string(pfstest.Pattern(2, pfs.ChunkSize+gateway.Step+17))
	body, kind := form(s.csrf, map[string]string{"large": large, "empty": "", "piece": large[:gateway.Step]}, false)
	upload(body, kind).want(t, http.StatusSeeOther)
	pfstest.WantFile(t, tree, home("large"), []byte(large))
	pfstest.WantFile(t, tree, home("empty"), nil)
	pfstest.WantFile(t, tree, home("piece"), []byte(large[:gateway.Step]))

	body, kind = form(s.csrf, map[string]string{"large": "other"}, false)
	upload(body, kind).want(t, http.StatusConflict)
	pfstest.WantFile(t, tree, home("large"), []byte(large))
	body, kind = form(s.csrf, map[string]string{"large": "other"}, true)
	upload(body, kind).want(t, http.StatusSeeOther)
	pfstest.WantFile(t, tree, home("large"), []byte("other"))

	body, kind = form(s.csrf, map[string]string{"cut": large}, false)
	upload(body[:len(body)/2], kind).want(t, http.StatusServiceUnavailable)
	body, kind = form("0", map[string]string{"forged": "x"}, false)
	upload(body, kind).want(t, http.StatusForbidden)
	pfstest.WantAbsent(t, tree, home("cut"), home("forged"))
}

func TestChange(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	s.login(t, gatewaytest.Alice)
	tree := s.tree(t, gatewaytest.Alice)
	s.post(t, address("mkdir", home()), "name", "d").want(t, http.StatusSeeOther)
	s.post(t, address("mkdir", home()), "name", "d").want(t, http.StatusConflict)
	s.post(t, address("mkdir", home()), "name", "a/b").want(t, http.StatusBadRequest)
	pfstest.WriteFile(t, tree, home("d", "f"), []byte("1"))
	pfstest.WriteFile(t, tree, home("taken"), []byte("2"))
	if got := s.post(t, address("rename", home("d", "f")), "to", string(home("taken"))).want(t, http.StatusConflict); !strings.Contains(got.body, "already exists") {
		t.Errorf("a rename to a name that is taken:\n%s", got.body)
	}
	s.post(t, address("rename", home("d", "f")), "to", "g").want(t, http.StatusSeeOther)
	s.post(t, address("rename", home("d", "g")), "to", string(home("h"))).want(t, http.StatusSeeOther)
	pfstest.WantFile(t, tree, home("h"), []byte("1"))

	s.post(t, address("delete", home()), csrfField, s.csrf).want(t, http.StatusBadRequest)
	ask := s.post(t, address("delete", home()), "name", "h", "name", "d").want(t, http.StatusOK)
	if !strings.Contains(ask.body, "There is no undo.") {
		t.Errorf("the question before deleting:\n%s", ask.body)
	}
	pfstest.WantNames(t, tree, home(), "d", "h", "taken")
	s.post(t, address("delete", home()), "name", "h", "name", "d", "confirm", "yes").want(t, http.StatusSeeOther)
	pfstest.WantNames(t, tree, home(), "taken")
	for _, line := range []string{"method=mkdir", "method=rename", "method=remove-tree", "protocol=web"} {
		if !strings.Contains(s.Log(), line) {
			t.Errorf("the audit log lacks %s", line)
		}
	}
	if _, err := tree.Stat(t.Context(), home("d")); !errors.Is(err, pfs.NotExist) {
		t.Errorf("the deleted folder: %v", err)
	}
}
