package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
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

// TestStoppedReader begins a download and stops to read.
func TestStoppedReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatewaytest.New(t, memfs.New(memfs.Options{}))
		tokens, err := s.Auth.Login(t.Context(), gatewaytest.Alice, gatewaytest.Password, "192.0.2.1:1")
		if err != nil {
			t.Fatal(err)
		}
		const size = 4 << 20
		pfstest.MustMkdir(t, s.Store, "/home/"+gatewaytest.Alice)
		pfstest.WriteFile(t, s.Store, "/home/"+gatewaytest.Alice+"/f", make([]byte, size))
		head := "GET " + address("raw", home("f")) + " HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: same-origin\r\nCookie: " + accessCookie + "=" + tokens.Access + "; " + refreshCookie + "=" + tokens.Refresh + "\r\n"
		gatewaytest.StoppedReader(t, gatewaytest.Pipes(t, pages(s, Jobs{}))(), head, size)
	})
}

// TestBruteForce guesses a password at the page for the login: the other protocols refuse the user from there, too.
func TestBruteForce(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	login := func(user, password string) int {
		r, _ := http.NewRequestWithContext(t.Context(), "POST", s.web.URL+"/ui/login", strings.NewReader(url.Values{"user": {user}, "password": {password}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		a, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		return a.StatusCode
	}
	for range 7 {
		if status := login(gatewaytest.Alice, "wrong horse"); status != 401 && status != 429 {
			t.Fatalf("a wrong password: %d", status)
		}
	}
	if status := login(gatewaytest.Alice, gatewaytest.Password); status != 429 {
		t.Errorf("the right password after seven guesses: %d", status)
	}
	if _, err := s.Auth.Authenticate(t.Context(), gatewaytest.Alice, gatewaytest.Password, "127.0.0.1:1"); !errors.Is(err, pfs.Limit) {
		t.Errorf("another protocol: %v", err)
	}
	if status := login(gatewaytest.Bob, gatewaytest.Password); status != 303 {
		t.Errorf("another user: %d", status)
	}
}
