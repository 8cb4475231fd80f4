package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/hadooptoken"
	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestHadoopShell runs Hadoop's own shell and distcp on gateways over a local store and over an HDFS.
func TestHadoopShell(t *testing.T) {
	c := testbed.HDFS(t)
	t.Run("local", func(t *testing.T) { hadoopScene(t, c, "") })
	t.Run("hdfs", func(t *testing.T) {
		testbed.Long(t)
		hadoopScene(t, c, datacenters(hdfsStore(t, c)))
	})
}

// TestHadoopToken runs Hadoop's own shell on a gateway that believes no name, with a file that has a delegation token, until the token is
// canceled.
func TestHadoopToken(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFS(t)
	s := startWebHDFS(t, `root: "/pfs/local/home/{user}"`, "")
	host := strings.TrimPrefix(s.webhdfs, "http://")
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.webhdfs+"/webhdfs/v1/?op=GETDELEGATIONTOKEN&service="+host, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("ann", strings.TrimSpace(goodPassword))
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	var answer struct{ Token struct{ URLString string } }
	if err := json.NewDecoder(a.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	token, err := hadooptoken.ParseURL(answer.Token.URLString)
	if err != nil {
		t.Fatal(err)
	}
	file, local := filepath.Join(t.TempDir(), "token"), filepath.Join(t.TempDir(), "f")
	if err := errors.Join(os.WriteFile(file, hadooptoken.File([]hadooptoken.Token{token}), 0o600), os.WriteFile(local, []byte("content"), 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HADOOP_TOKEN_FILE_LOCATION", file)
	at := "webhdfs://" + host
	c.Do(t, "fs", "-put", local, at+"/f")
	if got := c.Do(t, "fs", "-cat", at+"/f"); got != "content" {
		t.Errorf("cat: %q", got)
	}
	if status, answer := s.ask(t, "PUT", "/", "op=CANCELDELEGATIONTOKEN&token="+answer.Token.URLString, ""); status != 200 {
		t.Fatalf("cancel: %d %s", status, answer)
	}
	if status, refused := s.ask(t, "GET", "/f", "op=OPEN&delegation="+answer.Token.URLString, ""); status != 403 || !strings.Contains(refused, "canceled") {
		t.Errorf("with a canceled token: %d %s", status, refused)
	}
}

// TestChecksumOfBlocks compares the checksum that the gateway computes for a file of several blocks with that of a real HDFS.
func TestChecksumOfBlocks(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFS(t)
	s := startWebHDFS(t, believing, "")
	content := string(bytes.Repeat([]byte("0123456789abcdef!"), (2*128<<20)/17+5000))
	sum := func(base, user string) string {
		query := "&user.name=" + url.QueryEscape(user)
		if status, answer := ask(t, "PUT", base+"/blocks?op=CREATE&overwrite=true&blocksize=134217728"+query, content); status != 201 {
			t.Fatalf("CREATE: %d %s", status, answer)
		}
		status, answer := ask(t, "GET", base+"/blocks?op=GETFILECHECKSUM"+query, "")
		if status != 200 || !strings.Contains(answer, "MD5-of-") {
			t.Fatalf("GETFILECHECKSUM: %d %s", status, answer)
		}
		var sum struct {
			FileChecksum struct{ Algorithm, Bytes string }
		}
		if err := json.Unmarshal([]byte(answer), &sum); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(sum)
	}
	real, ours := sum(c.WebHDFS[0]+"/webhdfs/v1"+c.Scratch(t), c.Superuser), sum(s.webhdfs+"/webhdfs/v1", "ann")
	if real != ours {
		t.Errorf("the gateway has %s, HDFS %s", ours, real)
	}
}

// hadoop is a gateway and an HDFS as the programs of Hadoop name them, for a user who is believed.
type hadoop struct {
	*webhdfsService
	c       *testbed.HDFSCluster
	dir     string // on this machine
	far, at string // a directory of the HDFS; the home of ann by the gateway
}

func (h *hadoop) shell(t *testing.T, args ...string) string {
	t.Helper()
	return h.c.Do(t, append([]string{"fs"}, args...)...)
}

// hadoopScene runs the programs on a gateway over a store. The shell is left out of short tests but for what shows that it
// works: each of its commands starts a Java.
func hadoopScene(t *testing.T, c *testbed.HDFSCluster, datacenters string) {
	s := startWebHDFS(t, believing, datacenters)
	h := &hadoop{s, c, t.TempDir(), "hdfs://" + c.NameNodes[0] + c.Scratch(t), strings.Replace(s.webhdfs, "http://", "webhdfs://", 1)}
	t.Setenv("HADOOP_USER_NAME", "ann")
	content := make([]byte, 3<<20+17)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	local := filepath.Join(h.dir, "f")
	if err := os.WriteFile(local, content, 0o644); err != nil {
		t.Fatal(err)
	}
	h.shell(t, "-put", local, h.at+"/g")
	if got := h.shell(t, "-cat", h.at+"/g"); got != string(content) {
		t.Errorf("cat: %d bytes, want %d", len(got), len(content))
	}
	h.distcp(t, content)
	if !testing.Short() {
		h.commands(t, local, content)
	}
}

// distcp copies from the HDFS to the gateway, and changed files back. distcp compares the checksums of HDFS of both sides.
func (h *hadoop) distcp(t *testing.T, content []byte) {
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.MkdirAll(filepath.Join(tree, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"sub/f": content, "empty": nil} {
		if err := os.WriteFile(filepath.Join(tree, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h.shell(t, "-put", tree, h.far)
	h.c.Do(t, "distcp", h.far+"/tree", h.at+"/tree")
	if status, got := h.ask(t, "GET", "/tree/sub/f", "op=OPEN&user.name=ann", ""); status != 200 || got != string(content) {
		t.Fatalf("distcp to the gateway: %d, %d bytes", status, len(got))
	}
	if status, got := h.ask(t, "GET", "/tree/empty", "op=OPEN&user.name=ann", ""); status != 200 || got != "" {
		t.Errorf("distcp of an empty file to the gateway: %d, %d bytes", status, len(got))
	}
	// The length stays, so only the checksum tells -update that the file has changed.
	changed := slices.Clone(content)
	changed[len(changed)/2] ^= 1
	if status, answer := h.ask(t, "PUT", "/tree/sub/f", "op=CREATE&overwrite=true&user.name=ann", string(changed)); status != 201 {
		t.Fatalf("CREATE: %d %s", status, answer)
	}
	h.c.Do(t, "distcp", "-update", h.at+"/tree", h.far+"/tree")
	if got := h.shell(t, "-cat", h.far+"/tree/sub/f"); got != string(changed) {
		t.Errorf("distcp -update from the gateway: the HDFS has %d bytes; want %d that the gateway has, one of them changed", len(got), len(changed))
	}
}

// commands puts, gets, copies, moves and removes with the shell.
func (h *hadoop) commands(t *testing.T, local string, content []byte) {
	shell := func(args ...string) string { t.Helper(); return h.shell(t, args...) }
	dir, far, at := h.dir, h.far, h.at
	shell("-put", local, far+"/f")
	shell("-mkdir", "-p", at+"/a/b")
	shell("-put", local, at+"/a/f")
	shell("-put", "-f", local, at+"/a/f")
	if got := shell("-ls", "-R", at+"/a"); !strings.Contains(got, fmt.Sprint(len(content))) || !strings.Contains(got, "/a/b") {
		t.Errorf("ls: %s", got)
	}
	if got := strings.Fields(shell("-count", at+"/a")); len(got) < 3 || got[0] != "2" || got[1] != "1" || got[2] != fmt.Sprint(len(content)) {
		t.Errorf("count: %q", got)
	}
	shell("-get", at+"/a/f", filepath.Join(dir, "back"))
	if got, err := os.ReadFile(filepath.Join(dir, "back")); err != nil || !bytes.Equal(got, content) {
		t.Errorf("get: %d bytes, %v", len(got), err)
	}
	shell("-mv", at+"/a/f", at+"/a/b/g")
	shell("-chmod", "777", at+"/a/b/g")
	shell("-touch", at+"/a/b/h")
	// To and from the real HDFS.
	shell("-cp", far+"/f", at+"/a/from")
	shell("-cp", at+"/a/b/g", at+"/a/copy")
	sum := func(name string) string {
		t.Helper()
		fields := strings.Fields(shell("-checksum", name))
		return strings.Join(fields[1:], " ")
	}
	if a, b, c := sum(at+"/a/from"), sum(at+"/a/copy"), sum(far+"/f"); a != b || a != c {
		t.Errorf("equal files have the checksums %s and %s, on the HDFS %s", a, b, c)
	}
	shell("-rm", at+"/a/b/g")
	shell("-rm", "-r", at+"/a")
	if status, answer := h.ask(t, "GET", "/a", "op=GETFILESTATUS&user.name=ann", ""); status != 404 {
		t.Errorf("after rm -r: %d %s", status, answer)
	}
}

// TestWebHDFSLikeNameNode sends the same requests to the gateway and to a real NameNode, and compares statuses, names of exceptions,
// and the keys and some values of answers. On an HDFS the numbers of copies, and what they take, are compared, too. differences
// has the reasons for what differs.
func TestWebHDFSLikeNameNode(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFS(t)
	t.Run("local", func(t *testing.T) { likeNameNode(t, c, "local", "") })
	t.Run("HDFS", func(t *testing.T) {
		store := hdfsStore(t, c)
		s := likeNameNode(t, c, "HDFS", datacenters(store))
		home := strings.TrimPrefix(store.URL, "hdfs://") + "/home/ann"
		c.Do(t, "admin", "-setSpaceQuota", "20g", home)
		c.Do(t, "admin", "-setQuota", "100", home)
		for _, n := range []string{"2", "1"} {
			if status, answer := s.ask(t, "PUT", "/copies"+n, "op=CREATE&user.name=ann&replication="+n, "content"); status != 201 {
				t.Fatalf("CREATE: %d %s", status, answer)
			}
		}
		numbers := append(slices.Clone(comparedNumbers), numbersOfCopies...)
		real := &like{base: c.WebHDFS[0] + "/webhdfs/v1" + home, user: c.Superuser, numbers: numbers}
		ours := &like{base: s.webhdfs + "/webhdfs/v1", user: "ann", numbers: numbers}
		for _, path := range []string{"/", "/copies1", "/copies2"} {
			for _, op := range []string{"GETCONTENTSUMMARY", "GETQUOTAUSAGE", "GETFILESTATUS"} {
				if a, b := real.ask(t, "GET", path, "op="+op, ""), ours.ask(t, "GET", path, "op="+op, ""); a != b {
					t.Errorf("%s of the same %s:\n\ta NameNode %s\n\tthe gateway %s", op, path, a, b)
				}
			}
		}
	})
}

func likeNameNode(t *testing.T, c *testbed.HDFSCluster, store, datacenters string) *webhdfsService {
	t.Helper()
	s := startWebHDFS(t, believing, datacenters)
	at := c.Scratch(t)
	compared := comparedNumbers
	if store == "HDFS" {
		compared = append(slices.Clone(compared), numbersOfCopies...)
	}
	real := &like{base: c.WebHDFS[0] + "/webhdfs/v1" + at, user: c.Superuser, numbers: compared}
	ours := &like{base: s.webhdfs + "/webhdfs/v1/cmp", user: "ann", numbers: compared}
	requests := likeRequests()
	unused := map[string]string{}
	for _, d := range differences {
		if store == "local" || !d.local {
			unused[d.request] = d.reason
		}
	}
	expected := len(unused)
	for _, r := range requests {
		a, b := real.ask(t, r.method, r.path, strings.ReplaceAll(r.query, "ROOT", at), r.body), ours.ask(t, r.method, r.path, strings.ReplaceAll(r.query, "ROOT", "/cmp"), r.body)
		name := r.method + " " + r.path + " " + r.query
		if a == b {
			continue
		}
		if _, ok := unused[name]; ok {
			delete(unused, name)
			continue
		}
		t.Errorf("%s:\n\ta NameNode %s\n\tthe gateway %s", name, a, b)
	}
	for name, reason := range unused {
		t.Errorf("%s does not differ any more: %s", name, reason)
	}
	t.Logf("%d requests, %d differences", len(requests), expected)
	return s
}

// like is a server of WebHDFS.
type like struct {
	base, user string
	numbers    []string // the keys of numbers that are compared
}

// comparedNumbers are keys of numbers that are compared on every store.
var comparedNumbers = []string{"length", "fileCount", "directoryCount", "fileAndDirectoryCount", "quota", "spaceQuota", "remainingEntries", "fileLength"}

// numbersOfCopies are those that are compared where the gateway serves an HDFS.
var numbersOfCopies = []string{"replication", "spaceConsumed"}

// ask returns what is compared of an answer.
func (l *like) ask(t *testing.T, method, path, query, body string) string {
	t.Helper()
	status, answer := ask(t, method, l.base+path+"?"+query+"&user.name="+url.QueryEscape(l.user), body)
	var v any
	if strings.Contains(query, "op=OPEN") && status == 200 || json.Unmarshal([]byte(answer), &v) != nil {
		return fmt.Sprintf("%d %.100q", status, answer)
	}
	return fmt.Sprintf("%d %s", status, l.shape(v, ""))
}

// shape is v with the values that must be equal, and the kinds of others.
func (l *like) shape(v any, key string) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, k+":"+l.shape(v[k], k))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, l.shape(e, key))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case string:
		if slices.Contains([]string{"exception", "javaClassName", "type", "pathSuffix", "algorithm", "bytes", "name", "value", "XAttrNames", "permission"}, key) {
			return v
		}
		return "string"
	case bool:
		return fmt.Sprint(v)
	case float64:
		if slices.Contains(l.numbers, key) {
			return fmt.Sprint(v)
		}
		return "number"
	}
	return fmt.Sprint(v)
}

type likeRequest struct{ method, path, query, body string }

// likeRequests makes a tree, asks everything about everything in it, and changes it.
func likeRequests() (all []likeRequest) {
	add := func(method, path, query, body string) { all = append(all, likeRequest{method, path, query, body}) }
	add("PUT", "/d/sub", "op=MKDIRS", "")
	add("PUT", "/d/f", "op=CREATE", strings.Repeat("0123456789", 200))
	add("PUT", "/d/empty", "op=CREATE", "")
	for _, path := range []string{"/d", "/d/f", "/d/empty", "/d/sub", "/d/none", "/d/none/none"} {
		for _, q := range []string{
			"op=OPEN", "op=open&offset=0&length=5", "op=GETFILESTATUS", "op=LISTSTATUS", "op=LISTSTATUS_BATCH", "op=LISTSTATUS_BATCH&startAfter=empty", "op=GETCONTENTSUMMARY", "op=GETQUOTAUSAGE",
			"op=GETFILECHECKSUM", "op=GETFILEBLOCKLOCATIONS", "op=GETXATTRS&encoding=base64", "op=LISTXATTRS", "op=CHECKACCESS&fsaction=r--", "op=CHECKACCESS&fsaction=rwx",
		} {
			add("GET", path, q, "")
		}
		for _, q := range []string{
			"op=SETREPLICATION&replication=1", "op=SETTIMES&modificationtime=1000000000000", "op=SETTIMES", "op=SETPERMISSION&permission=700", "op=SETOWNER",
			"op=SETXATTR&xattr.name=user.a&xattr.value=0x6162&flag=CREATE", "op=SETXATTR&xattr.name=user.a&xattr.value=0x6163&flag=CREATE", "op=SETXATTR&xattr.name=user.b&xattr.value=0x61&flag=REPLACE",
		} {
			add("PUT", path, q, "")
		}
		for _, q := range []string{"op=GETXATTRS&encoding=hex&xattr.name=user.a", "op=GETXATTRS&encoding=text", "op=GETXATTRS&encoding=hex&xattr.name=user.none", "op=GETXATTRS&encoding=hex&xattr.name=bad", "op=LISTXATTRS"} {
			add("GET", path, q, "")
		}
		add("PUT", path, "op=REMOVEXATTR&xattr.name=user.a", "")
		add("PUT", path, "op=REMOVEXATTR&xattr.name=user.a", "")
	}
	for _, q := range []string{
		"op=OPEN&offset=5", "op=OPEN&offset=1995&length=100", "op=OPEN&length=0", "op=OPEN&offset=3000", "op=OPEN&offset=-1", "op=OPEN&offset=x", "op=OPEN&length=x", "op=NOSUCH", "", "op=",
		"op=GETXATTRS", "op=GETHOMEDIRECTORY", "op=GETTRASHROOT", "op=GETSERVERDEFAULTS", "op=CHECKACCESS&fsaction=abc", "op=CREATE", "op=MKDIRS", "op=DELETE",
	} {
		add("GET", "/d/f", q, "")
	}
	for _, r := range []likeRequest{
		{"PUT", "/d/f", "op=CREATE", "x"}, {"PUT", "/d", "op=CREATE", "x"}, {"PUT", "/d", "op=CREATE&overwrite=true", "x"}, {"PUT", "/d/f", "op=CREATE&overwrite=perhaps", "x"},
		{"PUT", "/d/bad", "op=CREATE&replication=0", "x"}, {"PUT", "/d/bad", "op=CREATE&replication=-1", "x"}, {"PUT", "/d/bad", "op=CREATE&replication=x", "x"},
		{"PUT", "/d/bad", "op=CREATE&replication=32768", "x"}, {"PUT", "/d/bad", "op=CREATE&blocksize=0", "x"}, {"PUT", "/d/bad", "op=CREATE&blocksize=x", "x"}, {"GET", "/d/bad", "op=GETFILESTATUS", ""},
		{"PUT", "/d/f", "op=CREATE&permission=999", "x"}, {"PUT", "/d/f/below", "op=CREATE", "x"}, {"PUT", "/d/new/deep", "op=CREATE&permission=600", "x"}, {"GET", "/d/new/deep", "op=GETFILESTATUS", ""},
		{"PUT", "/d/f", "op=MKDIRS", ""}, {"PUT", "/d/f/below", "op=MKDIRS", ""}, {"PUT", "/d/m/n", "op=MKDIRS&permission=700", ""}, {"GET", "/d/m/n", "op=GETFILESTATUS", ""}, {"PUT", "/d/m", "op=MKDIRS", ""},
		{"POST", "/d/f", "op=APPEND", "more"}, {"GET", "/d/f", "op=OPEN&offset=1995", ""}, {"POST", "/d/none", "op=APPEND", "more"}, {"POST", "/d", "op=APPEND", "more"},
		{"PUT", "/d/f", "op=RENAME&destination=ROOT/d/g", ""}, {"PUT", "/d/f", "op=RENAME&destination=ROOT/d/h", ""}, {"PUT", "/d/g", "op=RENAME&destination=ROOT/d/empty", ""},
		{"PUT", "/d/g", "op=RENAME&destination=ROOT/d/sub", ""}, {"GET", "/d/sub/g", "op=GETFILESTATUS", ""}, {"PUT", "/d/sub/g", "op=RENAME&destination=ROOT/none/g", ""},
		{"PUT", "/d", "op=RENAME&destination=ROOT/d/sub/x", ""}, {"PUT", "/d/sub", "op=RENAME&destination=ROOT/d/sub", ""}, {"PUT", "/d/sub/g", "op=RENAME&destination=ROOT/d/sub/g", ""},
		{"PUT", "/d/sub/g", "op=RENAME&destination=relative", ""}, {"PUT", "/d/sub/g", "op=RENAME", ""},
		{"PUT", "/d/sub/g", "op=RENAME&destination=ROOT/d/empty&renameoptions=NONE", ""}, {"PUT", "/d/sub/g", "op=RENAME&destination=ROOT/d/empty&renameoptions=OVERWRITE", ""},
		{"PUT", "/d/none", "op=RENAME&destination=ROOT/d/x&renameoptions=OVERWRITE", ""}, {"PUT", "/d/empty", "op=RENAME&destination=ROOT/none/x&renameoptions=NONE", ""},
		{"PUT", "/d/empty", "op=RENAME&destination=ROOT/d/sub&renameoptions=OVERWRITE", ""}, {"PUT", "/d/m", "op=RENAME&destination=ROOT/d/sub&renameoptions=OVERWRITE", ""},
		{"PUT", "/d/new", "op=RENAME&destination=ROOT/d/sub&renameoptions=OVERWRITE", ""}, {"PUT", "/d/empty", "op=RENAME&destination=ROOT/d/empty&renameoptions=OVERWRITE", ""},
		{"POST", "/d/empty", "op=TRUNCATE&newlength=99999", ""}, {"POST", "/d/empty", "op=TRUNCATE&newlength=2004", ""}, {"POST", "/d/empty", "op=TRUNCATE", ""}, {"POST", "/d", "op=TRUNCATE&newlength=1", ""},
		{"POST", "/d/none", "op=TRUNCATE&newlength=1", ""}, {"POST", "/d/empty", "op=CONCAT", ""},
		{"PUT", "/d/empty", "op=SETREPLICATION&replication=0", ""}, {"PUT", "/d/empty", "op=SETPERMISSION&permission=abc", ""}, {"PUT", "/d/empty", "op=SETTIMES&modificationtime=x", ""},
		{"DELETE", "/d", "op=DELETE", ""}, {"DELETE", "/d/none", "op=DELETE", ""}, {"DELETE", "/d/empty", "op=DELETE", ""}, {"DELETE", "/d", "op=DELETE&recursive=x", ""},
		{"DELETE", "/d", "op=DELETE&recursive=true", ""}, {"GET", "/d", "op=LISTSTATUS", ""}, {"DELETE", "/d", "op=DELETE&recursive=true", ""}, {"POST", "/d", "op=NOSUCH", ""}, {"DELETE", "/d", "op=NOSUCH", ""}, {"PUT", "/d", "op=NOSUCH", ""},
	} {
		add(r.method, r.path, r.query, r.body)
	}
	return all
}

// differences are the requests that the gateway answers in another way, and why; those with local on a local store only.
var differences = []struct {
	request, reason string
	local           bool
}{
	{request: "GET /d/f op=GETXATTRS", reason: "a NameNode refuses it without encoding, for which the gateway takes hex"},
	{request: "GET /d/f op=GETFILEBLOCKLOCATIONS", reason: "a store does not tell on which kind of disk a block is, and a local one has one copy, at this machine"},
	{request: "PUT /d/f op=SETREPLICATION&replication=1", reason: "a local store has no number of copies to set", local: true},
	{request: "PUT /d/empty op=SETREPLICATION&replication=1", reason: "as above", local: true},
}
