package web

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestBrowserOnLocal visits a real pfsd over a local store.
func TestBrowserOnLocal(t *testing.T) {
	testbed.Long(t)
	testBrowserOn(t, fmt.Sprintf("store: 'file://%s'", t.TempDir()))
}

// TestBrowserOnHDFS visits a real pfsd over an HDFS.
func TestBrowserOnHDFS(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFS(t)
	testBrowserOn(t, fmt.Sprintf("store: 'hdfs://%s', options: {conf-dir: %q, user: %q}", c.Scratch(t), c.ConfDir, c.Superuser))
}

// testBrowserOn uploads, makes a folder, renames, shares, downloads and deletes on a store.
func testBrowserOn(t *testing.T, store string) {
	dir := t.TempDir()
	program, data, config := testbed.BuildPfsd(t), filepath.Join(dir, "data"), filepath.Join(dir, "pfsd.yaml")
	if err := os.WriteFile(config, []byte("datacenters:\n  "+gatewaytest.Datacenter+": {"+store+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	testbed.AddUser(t, program, data, gatewaytest.Alice, gatewaytest.Password)
	service := testbed.StartPfsd(t, program, "--data", data, "--config", config)
	s := &site{web: &httptest.Server{URL: "https://" + service.Address("listening on https://")}}
	p := startChromium(t, t.TempDir()).open(t, s)
	p.login()

	content := pfstest.Pattern(1, 3*pfs.ChunkSize+5)
	p.click("summary", "Upload")
	p.choose("input[name=file]", file(t, dir, "model.bin", content), file(t, dir, "read me.txt", []byte("hello")))
	p.click("#upload button", "Upload")
	p.wait("document.querySelector('#transfers').innerText.includes('2 of 2 uploaded and verified')")

	p.visit(address("files", home()))
	p.click("summary", "New folder")
	p.run("document.querySelector('form[action*=mkdir] input[name=name]').focus()")
	p.write("data set")
	p.press("Enter")
	p.wait("document.querySelector('#listing')?.innerText.includes('data set')")

	p.visit(address("rename", home("model.bin")))
	p.run("document.activeElement.select()")
	p.write("weights.bin")
	p.press("Enter")
	p.wait("document.querySelector('#listing')?.innerText.includes('weights.bin')")

	p.visit(address("share", home("weights.bin")))
	p.click("button", "Make link")
	p.wait("document.querySelector('[role=status] input.address')")
	var link string
	if err := p.eval("document.querySelector('[role=status] input.address').value", &link); err != nil {
		t.Fatal(err)
	}
	guest := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	got, err := guest.Get(link + "/download")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if b, err := io.ReadAll(got.Body); err != nil || string(b) != string(content) {
		t.Errorf("by the link: %s, %d bytes of %d, %v", got.Status, len(b), len(content), err)
	}

	p.visit(address("files", home()))
	p.click(".tools a", "Download as zip")
	select {
	case state := <-p.saved:
		if state != "completed" {
			t.Errorf("the download of the archive: %s", state)
		}
	case <-time.After(patience):
		t.Error("the download of the archive did not end")
	}
	p.run("document.getElementById('all').click()")
	p.click(".chosen button", "Delete")
	p.wait("document.body.innerText.includes('There is no undo')")
	p.click("button", "Delete for good")
	p.wait("document.querySelector('#listing') && !document.querySelector('#listing').innerText.includes('weights.bin')")
	var left string
	if err := p.eval("document.querySelector('#listing').innerText", &left); err != nil || strings.Contains(left, "read me") || strings.Contains(left, "data set") {
		t.Errorf("after the delete the folder has %q, %v", left, err)
	}
}
