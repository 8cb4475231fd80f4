package openpai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"golang.org/x/sync/singleflight"
)

const (
	// patience is how long the engine waits for a server that does not answer.
	patience = 30 * time.Second
	// requestTime bounds one request.
	requestTime = 30 * time.Second
	// maxAnswer bounds an answer in bytes; a list has 5,000 jobs of some hundred bytes.
	maxAnswer = 64 << 20
	// tokenLife is how long a token that the client asks for is valid.
	tokenLife = 4000 * time.Second
)

// client is the REST API of OpenPAI. It logs in when that is needed.
type client struct {
	config   *Config
	http     *http.Client
	patience time.Duration

	logins singleflight.Group // by the token that is to be replaced

	mu    sync.Mutex
	api   string // V1 or V2, once it is known
	token string // of a login with the password
}

func newClient(config *Config) *client {
	return &client{config: config, http: &http.Client{Timeout: requestTime}, patience: patience, api: config.API}
}

// call is one request.
type call struct {
	method, path string // the path without /api
	contentType  string
	body         []byte
	anonymous    bool
}

// retried repeats a request while the server is away.
func (c *client) retried(ctx context.Context, do func(context.Context) error) error {
	budget := retry.From(ctx)
	if budget == nil {
		budget = retry.New(retry.Policy{Total: c.patience}, nil)
	}
	return budget.Do(ctx, retry.Op{}, do)
}

// ask sends a request, and decodes the answer into reply, unless that is nil; a *string gets it as it is.
func (c *client) ask(ctx context.Context, q call, reply any) error {
	return c.retried(ctx, func(ctx context.Context) error {
		token, err := "", error(nil)
		if !q.anonymous {
			if token, err = c.credential(ctx, ""); err != nil {
				return err
			}
		}
		err = c.send(ctx, q, token, reply)
		if !q.anonymous && errors.Is(err, errToken) { // it has expired
			if token, err = c.credential(ctx, token); err == nil {
				err = c.send(ctx, q, token, reply)
			}
		}
		if errors.Is(err, errToken) {
			return pfs.Errorf("openpai.login", "", pfs.Permission, "OpenPAI does not accept the token in %s: it has expired or was revoked; put a new application token of %s there: it is read again with the next request",
				c.config.TokenFile, c.config.User)
		}
		return err
	})
}

// errToken is the cause of an error about a token.
var errToken = errors.New("the token is not accepted")

// credential returns a token other than refused.
func (c *client) credential(ctx context.Context, refused string) (string, error) {
	const op = "openpai.login"
	if name := c.config.TokenFile; name != "" {
		text, err := os.ReadFile(name)
		token := strings.TrimSpace(string(text))
		switch {
		case err != nil:
			return "", pfs.Errorf(op, "", pfs.Permission, "the token for OpenPAI: %w", err)
		case token == "":
			return "", pfs.Errorf(op, "", pfs.Permission, "the token for OpenPAI: %s is empty", name)
		case token == refused:
			return "", errToken
		}
		return token, nil
	}
	if token, _ := c.known(refused); token != "" {
		return token, nil
	}
	// One login is for all who wait, or a server that does not answer would let them wait for each other. It goes on if one gives up.
	shared := c.logins.DoChan(refused, func() (any, error) { return c.login(context.WithoutCancel(ctx), refused) })
	select {
	case r := <-shared:
		token, _ := r.Val.(string)
		return token, r.Err
	case <-ctx.Done():
		return "", pfs.Errorf(op, "", pfs.Canceled, "OpenPAI: %w", context.Cause(ctx))
	}
}

// known returns the token of the last login, unless it is refused, and the version of the API.
func (c *client) known(refused string) (token, api string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token != refused {
		token = c.token
	}
	return token, c.api
}

// login returns the token of a new login, or of one that has just been made.
func (c *client) login(ctx context.Context, refused string) (string, error) {
	const op = "openpai.login"
	token, api := c.known(refused)
	if token != "" {
		return token, nil
	}
	password, err := os.ReadFile(c.config.PasswordFile)
	if err != nil {
		return "", pfs.Errorf(op, "", pfs.Permission, "the password for OpenPAI: %w", err)
	}
	path := "/v1/token"
	if api == V2 {
		path = "/v2/authn/basic/login"
	}
	body, err := json.Marshal(map[string]any{"username": c.config.User, "password": strings.TrimRight(string(password), "\r\n"), "expiration": int(tokenLife.Seconds())})
	if err != nil {
		return "", err
	}
	var reply struct {
		Token string `json:"token"`
	}
	err = c.send(ctx, call{method: http.MethodPost, path: path, contentType: "application/json", body: body, anonymous: true}, "", &reply)
	switch {
	case err != nil && pfs.KindOf(err).Temporary():
		return "", err
	case err != nil:
		return "", pfs.Errorf(op, "", pfs.Permission, "OpenPAI refuses the login of %q with the password in %s: %w", c.config.User, c.config.PasswordFile, err)
	case reply.Token == "":
		return "", pfs.Errorf(op, "", pfs.Unsupported, "OpenPAI at %s answered a login without a token: is it of another version?", c.config.Address)
	}
	c.mu.Lock()
	c.token = reply.Token
	c.mu.Unlock()
	return reply.Token, nil
}

// errNoAPI is the cause of an error about a path that OpenPAI itself does not know.
var errNoAPI = errors.New("it is of another version")

// apiError is an error that OpenPAI answers.
type apiError struct {
	Code    string `json:"code"`
	Message any    `json:"message"` // a text, or what a validator says
	status  int
}

func (e *apiError) Error() string {
	text, ok := e.Message.(string)
	if !ok {
		b, _ := json.Marshal(e.Message)
		text = string(b)
	}
	return fmt.Sprintf("%.2000s (%s, HTTP %d)", text, e.Code, e.status)
}

// kinds are the Kinds of OpenPAI's errors by their codes.
var kinds = map[string]pfs.Kind{
	"NoJobError":             pfs.NotExist,
	"NoTaskLogError":         pfs.NotExist,
	"ConflictJobError":       pfs.Exist,
	"NoVirtualClusterError":  pfs.Invalid,
	"InvalidParametersError": pfs.Invalid,
	"InvalidProtocolError":   pfs.Invalid,
	"NoUserError":            pfs.Permission,
	"IncorrectPassworkError": pfs.Permission, // so spelled
	"IncorrectPasswordError": pfs.Permission,
	"ForbiddenUserError":     pfs.Permission,
	"RemoteStopJobError":     pfs.Unavailable,
}

// failed gives an answer that is no success its Kind.
func (c *client) failed(q call, status int, header http.Header, body []byte) error {
	const op = "openpai.request"
	e := &apiError{status: status}
	kind, of := pfs.Unavailable, "" // as a proxy whose server is away
	switch err := json.Unmarshal(body, e); {
	case status == http.StatusTooManyRequests:
		return pfs.Errorf(op, "", pfs.Limit, "OpenPAI accepts no more requests now (HTTP 429; its limits are 60 submits an hour and 600 requests a minute): try again later")
	case err == nil && e.Code != "" && status == http.StatusUnauthorized:
		return fmt.Errorf("OpenPAI: %w: %w", errToken, e)
	case err == nil && e.Code == "NoApiError":
		return pfs.Errorf(op, "", pfs.Unsupported, "OpenPAI at %s has no %s /api%s: %w; see to the option api", c.config.Address, q.method, q.path, errNoAPI)
	case err == nil && kinds[e.Code] != 0:
		return pfs.Errorf(op, "", kinds[e.Code], "OpenPAI: %w", e)
	case err == nil && e.Code != "" && status < 500:
		return pfs.Errorf(op, "", pfs.Invalid, "OpenPAI: %w", e)
	case err == nil && e.Code != "":
		return pfs.Errorf(op, "", pfs.Unavailable, "OpenPAI: %w", e)
	case status < 500:
		// Nobody repeats it: an address that is wrong stays wrong.
		kind, of = pfs.Unsupported, "; see to the option address"
	}
	return pfs.Errorf(op, "", kind, "%s answered %s with HTTP %d and %s, which is not OpenPAI's%s", c.config.Address, q.method+" /api"+q.path, status, described(header, body), of)
}

// described says what an answer is.
func described(header http.Header, body []byte) string {
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if kind == "" {
		kind = "no type"
	}
	return fmt.Sprintf("%d bytes of %s", len(body), kind)
}

// send sends a request once.
func (c *client) send(ctx context.Context, q call, token string, reply any) error {
	const op = "openpai.request"
	address := c.config.Address + "/api" + q.path
	if strings.Contains(q.path, "://") {
		address = q.path
	}
	r, err := http.NewRequestWithContext(ctx, q.method, address, bytes.NewReader(q.body))
	if err != nil {
		return pfs.Errorf(op, "", pfs.Invalid, "OpenPAI: %w", err)
	}
	if q.contentType != "" {
		r.Header.Set("Content-Type", q.contentType)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := c.http.Do(r)
	var body []byte
	if err == nil {
		defer answer.Body.Close()
		body, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	}
	switch {
	case ctx.Err() != nil:
		return pfs.Errorf(op, "", pfs.Canceled, "OpenPAI: %w", context.Cause(ctx))
	case err != nil:
		return pfs.Errorf(op, "", pfs.Unavailable, "OpenPAI: %w", err)
	case len(body) > maxAnswer:
		return pfs.Errorf(op, "", pfs.Limit, "OpenPAI: %s %s: more than %d bytes", q.method, q.path, maxAnswer)
	case answer.StatusCode/100 != 2:
		return c.failed(q, answer.StatusCode, answer.Header, body)
	}
	switch to := reply.(type) {
	case nil:
		return nil
	case *string:
		*to = string(body)
		return nil
	}
	if err := json.Unmarshal(body, reply); err != nil {
		return pfs.Errorf(op, "", pfs.Unsupported, "%s answered %s /api%s with %s, which is not OpenPAI's (%v); see to the options address and api",
			c.config.Address, q.method, q.path, described(answer.Header, body), err)
	}
	return nil
}

// millis is a time in milliseconds since 1970; null, 0 and a text are none.
type millis struct{ time.Time }

// UnmarshalJSON never fails: an invalid time is unknown.
func (m *millis) UnmarshalJSON(b []byte) error {
	if n, err := strconv.ParseFloat(string(b), 64); err == nil && n > 0 {
		m.Time = time.UnixMilli(int64(n)).UTC()
	}
	return nil
}
