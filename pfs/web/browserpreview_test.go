package web

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"testing"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/recordio"
)

// TestBrowserPreviews shows previews in a real browser, on a desktop and on a phone, light and dark, and makes and revokes a link.
func TestBrowserPreviews(t *testing.T) {
	testbed.Long(t)
	shots := os.Getenv("PFS_SCREENSHOTS")
	t.Setenv("PFS_SCREENSHOTS", "") // look has names for other pictures
	s := newBrowserSite(t)
	tree := s.tree(t, gatewaytest.Alice)
	picture := image.NewRGBA(image.Rect(0, 0, 300, 200))
	for i := range 300 * 200 {
		picture.Set(i%300, i/300, color.RGBA{uint8(i), uint8(i / 300), 120, 255})
	}
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, picture); err != nil {
		t.Fatal(err)
	}
	pfstest.WriteFile(t, tree, home("train-00000"), records(t, 500, recordio.WriterOptions{Compressor: recordio.Snappy, ChunkBytes: 4000}, func(i int) string {
		return fmt.Sprintf(`{"id": %d, "label": "%s", "pixels": [0.5, 0.25, %d]}`, i, []string{"cat", "dog", "<img src=x onerror=alert(1)>"}[i%3], i)
	}))
	pfstest.WriteFile(t, tree, home("picture"), encoded.Bytes())
	pfstest.WriteFile(t, tree, home("page.html"), []byte("<script>alert(1)</script><img src=x onerror=alert(1)>"))
	pfstest.WriteFile(t, tree, home("table.csv"), []byte("name,price\n<svg onload=alert(1)>,2\nplain,\"3\n"))
	pfstest.WriteFile(t, tree, home("data.json"), []byte(`{"a": [1, {"b": "</pre><script>alert(1)</script>"}]}`))

	p := startChromium(t, t.TempDir()).open(t, s)
	p.login()
	for _, name := range []string{"train-00000", "picture", "page.html", "table.csv", "data.json"} {
		p.visit(address("files", home(name)))
		p.wait("document.querySelector('.preview')")
		for _, scheme := range []string{"light", "dark"} {
			for _, phone := range []bool{false, true} {
				p.look("web", phone, scheme)
				if shots != "" {
					t.Setenv("PFS_SCREENSHOTS", shots)
					p.picture(fmt.Sprintf("preview-%s-%s-%v.png", name, scheme, phone))
					t.Setenv("PFS_SCREENSHOTS", "")
				}
			}
		}
		p.size(1280, 800, false)
	}
	p.visit(address("files", home("picture")))
	p.wait("document.querySelector('.preview img').naturalWidth === 300")
	p.visit(address("files", home("train-00000")))
	p.run("document.querySelector('.goto input').value = '490'")
	p.click(".goto button", "Show")
	p.wait("document.body.innerText.includes('Record 499')")

	p.click("a", "Share")
	p.wait("document.querySelector('select[name=days]')")
	p.click("form button", "Make link")
	p.wait("document.querySelector('input.address')")
	var to string
	if err := p.eval("new URL(document.querySelector('input.address').value).pathname", &to); err != nil {
		t.Fatal(err)
	}
	for _, phone := range []bool{false, true} {
		p.look("web", phone, "light")
	}
	if shots != "" {
		t.Setenv("PFS_SCREENSHOTS", shots)
		p.picture("share.png")
	}
	if got := s.guest().get(t, to); got.StatusCode != 200 {
		t.Errorf("the link: %s", got.Status)
	}
	p.size(1280, 800, false)
	p.click("table button", "Revoke")
	p.wait("document.body.innerText.includes('You have no links.')")
	if got := s.guest().get(t, to); got.StatusCode != 404 {
		t.Errorf("the link after it was revoked: %s", got.Status)
	}
}
