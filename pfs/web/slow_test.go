package web

import (
	"net/http"
	"testing"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// TestSlowRequests sends requests whose bodies do not come, or a byte a second.
func TestSlowRequests(t *testing.T) {
	gatewaytest.Slow(t, func(t *testing.T) (http.Handler, []string) {
		s := gatewaytest.New(t, memfs.New(memfs.Options{}))
		tokens, err := s.Auth.Login(t.Context(), gatewaytest.Alice, gatewaytest.Password, "192.0.2.1:1")
		if err != nil {
			t.Fatal(err)
		}
		h := pages(s, Jobs{})
		head := " HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: same-origin\r\nCookie: " + accessCookie + "=" + tokens.Access + "; " + refreshCookie + "=" + tokens.Refresh + "\r\n"
		token := csrfHeader + ": " + csrfOf(tokens.Refresh) + "\r\n"
		const id = "?id=" + uploadID
		requests := []string{
			"GET /ui/login" + head, "POST /ui/login" + head, "GET /ui/" + head, "GET " + address("files", home()) + head, "GET /ui/static/app.js" + head, "GET /ui/s/none" + head,
			"POST " + address("mkdir", home()) + head, "POST " + address("delete", home()) + head + token, "POST " + address("mkdir", home()) + head + token,
			"POST " + address("upload", home()) + head + "Content-Type: multipart/form-data; boundary=x\r\n",
			"POST " + address("send/begin", home("f")) + id + "&size=2000" + head + token, "PUT " + address("send/leaf", home("f")) + id + "&off=0" + head + token,
			"POST " + address("send/commit", home("f")) + id + "&size=2000" + head + token, "POST " + address("send/discard", home("g")) + id + head + token,
		}
		return h, requests
	})
}
