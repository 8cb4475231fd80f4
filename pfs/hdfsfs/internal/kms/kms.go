// Package kms decrypts the keys of files in encryption zones with Hadoop's KMS, over its REST interface, version 1.
package kms

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/sasl"
)

// Client gets keys from the servers of a KMS. It keeps each key for a minute: after the KMS revokes a right, Key
// still returns a kept key for up to a minute.
type Client struct {
	// Kerberos begins an exchange with a service that has this principal; nil if the KMS trusts user names.
	Kerberos func(principal string) (sasl.Mechanism, error)

	// Timeout bounds the wait for an answer.
	Timeout time.Duration

	mu   sync.Mutex
	keys map[question]answer
}

const (
	// maxAnswer bounds the bytes of an answer.
	maxAnswer = 64 << 10
	// maxAge is how long a key is kept, and maxKeys how many are.
	maxAge  = time.Minute
	maxKeys = 4096
)

// question identifies the key of a file and the user who asks for it.
type question struct{ provider, user, version, encrypted, iv string }

type answer struct {
	key   *Key
	until time.Time
}

// aesCTR is the number of AES/CTR/NoPadding among Hadoop's cipher suites.
const aesCTR = 2

// Key returns the key of a file, decrypted by the KMS at provider (kms://http@host1;host2:9600/kms) for a user.
func (c *Client) Key(ctx context.Context, provider, user string, info *hdfsproto.EncryptionInfo) (*Key, error) {
	if info.GetSuite() != aesCTR || len(info.GetIv()) != aes.BlockSize {
		return nil, pfs.Errorf("kms.Key", "", pfs.Unsupported, "the file is encrypted with suite %d: only AES/CTR/NoPadding (%d) is supported", info.GetSuite(), aesCTR)
	}
	q := question{provider, user, info.GetKeyVersion(), string(info.GetKey()), string(info.GetIv())}
	if key := c.kept(q); key != nil {
		return key, nil
	}
	servers, err := parse(provider)
	if err != nil {
		return nil, err
	}
	for _, server := range servers {
		asked := time.Now()
		var secret []byte
		if secret, err = c.ask(ctx, server, user, info); err == nil {
			key, err := newKey(secret, info.GetIv())
			if err == nil {
				c.keep(q, answer{key, asked.Add(maxAge)})
			}
			return key, err
		}
		if pfs.KindOf(err) != pfs.Unavailable || ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// kept returns a kept key, or nil.
func (c *Client) kept(q question) *Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.keys[q]; time.Now().Before(a.until) {
		return a.key
	}
	return nil
}

func (c *Client) keep(q question, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.keys) >= maxKeys {
		maps.DeleteFunc(c.keys, func(_ question, a answer) bool { return time.Now().After(a.until) })
	}
	if c.keys == nil || len(c.keys) >= maxKeys {
		c.keys = map[question]answer{}
	}
	c.keys[q] = a
}

// parse returns the URLs of the servers.
func parse(provider string) (all []string, err error) {
	rest, ok := strings.CutPrefix(provider, "kms://")
	protocol, rest, at := strings.Cut(rest, "@")
	hosts, path, _ := strings.Cut(rest, "/")
	port := strings.LastIndex(hosts, ":")
	if !ok || !at || protocol != "http" && protocol != "https" || port < 0 {
		return nil, pfs.Errorf("kms.Key", "", pfs.Unsupported, "the NameNode gives the key provider %q, which is no KMS (kms://http@host:port/kms)", provider)
	}
	for host := range strings.SplitSeq(hosts[:port], ";") {
		all = append(all, protocol+"://"+host+hosts[port:]+"/"+path)
	}
	return all, nil
}

// version is a version of a key, encrypted in a request and clear in an answer.
type version struct {
	Name     string `json:"name"`
	IV       string `json:"iv,omitempty"`
	Material string `json:"material"`
}

// ask lets one server decrypt a key.
func (c *Client) ask(ctx context.Context, server, user string, info *hdfsproto.EncryptionInfo) ([]byte, error) {
	fail := func(kind pfs.Kind, format string, args ...any) ([]byte, error) {
		return nil, pfs.Errorf("kms.Key", "", kind, "the KMS %s: %w", server, fmt.Errorf(format, args...))
	}
	within, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	encode := base64.URLEncoding.EncodeToString
	body, err := json.Marshal(version{Name: info.GetKeyName(), IV: encode(info.GetIv()), Material: encode(info.GetKey())})
	if err != nil {
		return nil, err
	}
	query := url.Values{"eek_op": {"decrypt"}}
	if c.Kerberos == nil {
		query.Set("user.name", user)
	}
	at := server + "/v1/keyversion/" + url.PathEscape(info.GetKeyVersion()) + "/_eek?" + query.Encode()
	req, err := http.NewRequestWithContext(within, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return fail(pfs.Invalid, "%w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	var exchange sasl.Mechanism
	if c.Kerberos != nil {
		if exchange, err = c.negotiate(req); err != nil {
			return fail(pfs.Unavailable, "%w", err)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // without the URL
		}
		if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
			return fail(pfs.Unavailable, "%w: add its authority to the certificates of this system, or name a file with it in SSL_CERT_FILE", err)
		}
		return fail(pfs.Unavailable, "%w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return fail(pfs.Unavailable, "%w", err)
	case resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusUnauthorized:
		return fail(pfs.Permission, "%s may not decrypt with the key %q (DECRYPT_EEK): its administrator gives the right", user, info.GetKeyName())
	case resp.StatusCode != http.StatusOK:
		return fail(pfs.Unavailable, "%s: %s", resp.Status, reason(text))
	}
	if exchange != nil {
		if err := proven(exchange, resp.Header); err != nil {
			return fail(pfs.Unavailable, "it does not prove that it is the KMS: %w", err)
		}
	}
	var v version
	if err := json.Unmarshal(text, &v); err != nil {
		return fail(pfs.Unavailable, "its answer is no JSON: %w", err)
	}
	secret, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(v.Material, "="))
	if err != nil || len(secret) != len(info.GetKey()) {
		return fail(pfs.Unavailable, "its answer has no key")
	}
	return secret, nil
}

// reason returns the message of an exception.
func reason(text []byte) string {
	var e struct {
		Remote struct {
			Message string `json:"message"`
		} `json:"RemoteException"`
	}
	_ = json.Unmarshal(text, &e)
	return e.Remote.Message
}

// scheme begins the headers of SPNEGO.
const scheme = "Negotiate "

// negotiate adds the proof of the client's identity.
func (c *Client) negotiate(req *http.Request) (sasl.Mechanism, error) {
	m, err := c.Kerberos("HTTP/" + req.URL.Hostname())
	if err != nil {
		return nil, err
	}
	token, err := m.Start(nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", scheme+base64.StdEncoding.EncodeToString(token))
	return m, nil
}

// proven checks that the server that got the request has the key of its principal. The proof does not cover the answer: only
// HTTPS keeps others from reading and changing it.
func proven(m sasl.Mechanism, header http.Header) error {
	for _, value := range header.Values("WWW-Authenticate") {
		text, ok := strings.CutPrefix(value, scheme)
		if !ok {
			continue
		}
		token, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return err
		}
		_, err = m.Next(token)
		return err
	}
	return errors.New("its answer has no token of Kerberos")
}

// Key is the key of a file. Its methods may be called concurrently.
type Key struct {
	block cipher.Block
	iv    [aes.BlockSize]byte
}

func newKey(secret, iv []byte) (*Key, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, pfs.Errorf("kms.Key", "", pfs.Unsupported, "%w", err)
	}
	return &Key{block, [aes.BlockSize]byte(iv)}, nil
}

// Crypt encrypts or decrypts src, the bytes at off in the file, to dst, which may be src.
func (k *Key) Crypt(dst, src []byte, off int64) {
	var counter [aes.BlockSize]byte
	low, carry := bits.Add64(binary.BigEndian.Uint64(k.iv[8:]), uint64(off/aes.BlockSize), 0)
	binary.BigEndian.PutUint64(counter[8:], low)
	binary.BigEndian.PutUint64(counter[:], binary.BigEndian.Uint64(k.iv[:])+carry)
	stream := cipher.NewCTR(k.block, counter[:])
	var skip [aes.BlockSize]byte
	stream.XORKeyStream(skip[:off%aes.BlockSize], skip[:off%aes.BlockSize])
	stream.XORKeyStream(dst, src)
}
