package server

import (
	"cmp"
	"net/http"

	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// logins bounds the requests for tokens in progress.
const logins = 64

// anonymous makes a handler of requests without an access token.
func anonymous[Q, A any](s *Server, do func(r *http.Request, q Q) (A, error)) http.HandlerFunc {
	return s.answering(func(w http.ResponseWriter, r *http.Request) error {
		var q Q
		b, err := body(w, r, wire.MaxRequest)
		if err == nil {
			err = wire.Decode(b, &q)
		}
		if err != nil {
			return err
		}
		end, err := s.logins.acquire(r.Context(), address(r))
		if err != nil {
			return err
		}
		defer end()
		reply, err := do(r, q)
		if err == nil {
			s.reply(w, http.StatusOK, reply)
		}
		return err
	})
}

// unknown replaces the user in an audit line.
const unknown = "(unknown)"

func (s *Server) login(r *http.Request, c wire.Credentials) (wire.Tokens, error) {
	t, err := s.cfg.Auth.Login(r.Context(), c.User, c.Password, r.RemoteAddr)
	user := c.User
	if err != nil && (s.cfg.Account == nil || !s.cfg.Account(user)) {
		user = unknown // people type passwords where the name belongs
	}
	s.audit(r, user, "login", err)
	return tokens(t), err
}

func (s *Server) refresh(r *http.Request, q wire.RefreshRequest) (wire.Tokens, error) {
	t, err := s.cfg.Auth.Refresh(r.Context(), q.Refresh, r.RemoteAddr)
	return tokens(t), err
}

func (s *Server) logout(r *http.Request, q wire.RefreshRequest) (wire.Empty, error) {
	user, err := s.cfg.Auth.Logout(r.Context(), q.Refresh)
	s.audit(r, cmp.Or(user, unknown), "logout", err)
	return wire.Empty{}, err
}

func tokens(t auth.Tokens) wire.Tokens {
	return wire.Tokens{
		User: t.User, Access: t.Access, Refresh: t.Refresh,
		Expires: wire.NewTime(t.Expires), RefreshExpires: wire.NewTime(t.RefreshExpires),
	}
}
