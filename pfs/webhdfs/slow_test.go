package webhdfs_test

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/internal/hadooptoken"
	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/webhdfs"
)

// serveHandler returns a gateway that does not listen, whose users are believed.
func serveHandler(t *testing.T, s *gatewaytest.Service) http.Handler {
	t.Helper()
	h, err := webhdfs.New(webhdfs.Config{Auth: s.Auth, Open: s.Open("webhdfs"), Home: gatewaytest.Home, TrustUserName: true, Root: "/pfs/dc/home/{user}"})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestSlowBody sends files slowly: a steady one arrives, and one of a byte a second is given up.
func TestSlowBody(t *testing.T) {
	for _, tt := range []struct {
		name  string
		piece int // bytes in a second
		want  int
	}{{"steady", 32 << 10, 201}, {"a byte a second", 1, 503}} {
		synctest.Test(t, func(t *testing.T) {
			s := gatewaytest.New(t, memfs.New(memfs.Options{}))
			h := serveHandler(t, s)
			q := "/webhdfs/v1/f?op=CREATE&user.name=" + url.QueryEscape(alice)
			location := gatewaytest.Ask(t, h, "PUT", q, "", nil).Header.Get("Location")
			address, err := url.Parse(location)
			if err != nil {
				t.Fatal(err)
			}
			c := gatewaytest.Pipes(t, h)()
			const size = 4 << 20
			began := time.Now()
			var sending sync.WaitGroup
			sending.Go(func() {
				fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", address.RequestURI(), size)
				for range size / tt.piece {
					if _, err := c.Write([]byte(strings.Repeat("x", tt.piece))); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			})
			a, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); a.StatusCode != tt.want || tt.want == 503 && took > 2*pace.Stall {
				t.Errorf("%s: %s after %v, want %d", tt.name, a.Status, took, tt.want)
			}
			if _, err := s.Store.Stat(t.Context(), "/home/"+pfs.Path(alice)+"/f"); errors.Is(err, pfs.NotExist) != (tt.want != 201) {
				t.Errorf("%s: then the file is there with %v", tt.name, err)
			}
			c.Close()
			sending.Wait()
		})
	}
}

// TestSlowRequests sends requests whose bodies do not come, also those that need none.
func TestSlowRequests(t *testing.T) {
	gatewaytest.Slow(t, func(t *testing.T) (http.Handler, []string) {
		s := gatewaytest.New(t, memfs.New(memfs.Options{}))
		h := serveHandler(t, s)
		user := "&user.name=" + url.QueryEscape(alice)
		second, err := url.Parse(gatewaytest.Ask(t, h, "PUT", "/webhdfs/v1/f?op=CREATE"+user, "", nil).Header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		requests := []string{"PUT " + second.RequestURI()}
		for _, r := range []string{"GET /?op=LISTSTATUS", "GET /?op=GETFILESTATUS", "PUT /d?op=MKDIRS", "PUT /g?op=CREATE", "PUT /x?op=RENAME", "POST /x?op=APPEND", "DELETE /x?op=DELETE", "GET /x?op=OPEN"} {
			method, target, _ := strings.Cut(r, " ")
			requests = append(requests, method+" /webhdfs/v1"+target+user)
		}
		for i := range requests {
			requests[i] += " HTTP/1.1\r\nHost: x\r\n"
		}
		return h, requests
	})
}

// TestRedirectExpires uses the addresses of second steps within their hour and after it.
func TestRedirectExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatewaytest.New(t, memfs.New(memfs.Options{}))
		h := serveHandler(t, s)
		for _, tt := range []struct {
			method, query string
			after         time.Duration
			want          int
		}{
			{"PUT", "op=CREATE", 59 * time.Minute, 201}, {"PUT", "op=CREATE&overwrite=true", time.Hour, 403},
			{"POST", "op=APPEND", 59 * time.Minute, 200}, {"POST", "op=APPEND", time.Hour, 403},
		} {
			there := gatewaytest.Ask(t, h, tt.method, "/webhdfs/v1"+home+"/f?"+tt.query, alice, nil).Header.Get("Location")
			time.Sleep(tt.after)
			a := gatewaytest.Ask(t, h, tt.method, there, "", strings.NewReader("x"))
			if a.Code != tt.want || tt.want == 403 && !strings.Contains(a.Body, "has expired") {
				t.Errorf("%s %s after %v: %d %s, want %d", tt.method, tt.query, tt.after, a.Code, a.Body, tt.want)
			}
		}
	})
}

// TestRedirectEndsWithCredential ends the credential that asked for the first step before the second one.
func TestRedirectEndsWithCredential(t *testing.T) {
	logout := func(t *testing.T, s *gatewaytest.Service, refresh string) {
		if _, err := s.Auth.Logout(t.Context(), refresh); err != nil {
			t.Error(err)
		}
	}
	nothing := func(*testing.T, *gatewaytest.Service, string) {}
	for _, tt := range []struct {
		what   string
		bearer bool          // else a delegation token
		before time.Duration // the first step, after the token was made
		end    func(t *testing.T, s *gatewaytest.Service, refresh string)
		after  time.Duration // the second step, after the first one
		want   int
	}{
		{"a delegation token", false, 0, nothing, 59 * time.Minute, 201},
		{"a canceled delegation token", false, 0, logout, 0, 403},
		{"a delegation token before its end", false, auth.RefreshLife - time.Minute, nothing, time.Minute - time.Second, 201},
		{"an expired delegation token", false, auth.RefreshLife - time.Minute, nothing, time.Minute, 403},
		{"an access token", true, 0, nothing, auth.DefaultAccessLife - time.Second, 201},
		{"an expired access token", true, 0, nothing, auth.DefaultAccessLife + time.Minute, 403},
		{"an access token of a session that was logged out", true, 0, logout, 0, 403},
	} {
		for method, query := range map[string]string{"PUT": "op=CREATE&overwrite=true", "POST": "op=APPEND"} {
			synctest.Test(t, func(t *testing.T) {
				s := gatewaytest.New(t, memfs.New(memfs.Options{}))
				h := serveHandler(t, s)
				made := gatewaytest.Ask(t, h, "PUT", "/webhdfs/v1"+home+"/f?op=CREATE", alice, nil)
				if made = gatewaytest.Ask(t, h, "PUT", made.Header.Get("Location"), "", strings.NewReader("x")); made.Code != 201 {
					t.Fatal(made)
				}
				first, header, refresh := "/webhdfs/v1"+home+"/f?pfs-session=x&"+query, []string(nil), ""
				if tt.bearer {
					tokens, err := s.Auth.Login(t.Context(), alice, gatewaytest.Password, "192.0.2.1:1")
					if err != nil {
						t.Fatal(err)
					}
					header, refresh = []string{"Authorization", "Bearer " + tokens.Access}, tokens.Refresh
				} else {
					var a struct{ Token struct{ URLString string } }
					decode(t, gatewaytest.Ask(t, h, "GET", "/webhdfs/v1/?op=GETDELEGATIONTOKEN", alice, nil).Body, &a)
					token, err := hadooptoken.ParseURL(a.Token.URLString)
					if err != nil {
						t.Fatal(err)
					}
					first += "&delegation=" + a.Token.URLString
					refresh = string(token.Password)
				}
				time.Sleep(tt.before)
				a := gatewaytest.Ask(t, h, method, first, "", nil, header...)
				there := a.Header.Get("Location")
				if there == "" {
					t.Fatalf("%s: %+v", tt.what, a)
				}
				tt.end(t, s, refresh)
				time.Sleep(tt.after)
				a = gatewaytest.Ask(t, h, method, there, "", strings.NewReader("y"))
				if ok := a.Code/100 == 2; ok != (tt.want == 201) || !ok && (a.Code != 403 || exceptionOf(a.Body) != "AccessControlException") {
					t.Errorf("%s of %s: %+v", method, tt.what, a)
				}
				if tt.bearer || tt.want == 201 {
					return
				}
				if a := gatewaytest.Ask(t, h, method, first, "", nil); a.Code != 403 || exceptionOf(a.Body) != "InvalidToken" {
					t.Errorf("%s by %s: %+v", method, tt.what, a)
				}
			})
		}
	}
}

// TestStoppedReader begins a download and stops to read.
func TestStoppedReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatewaytest.New(t, memfs.New(memfs.Options{}))
		h := serveHandler(t, s)
		const size = 4 << 20
		pfstest.MustMkdir(t, s.Store, "/home/"+pfs.Path(alice))
		pfstest.WriteFile(t, s.Store, "/home/"+pfs.Path(alice)+"/f", make([]byte, size))
		gatewaytest.StoppedReader(t, gatewaytest.Pipes(t, h)(), "GET /webhdfs/v1/f?op=OPEN&user.name="+url.QueryEscape(alice)+" HTTP/1.1\r\nHost: x\r\n", size)
	})
}
