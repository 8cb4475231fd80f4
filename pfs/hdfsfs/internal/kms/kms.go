// Package kms decrypts the keys of files in encryption zones with Hadoop's KMS, over its REST interface, version 1.
package kms

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"net/url"
	"strings"
	"time"

	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/sasl"
)

// Client asks the servers of a KMS.
type Client struct {
	// Kerberos returns the holder of the tickets; nil if the KMS believes names.
	Kerberos func(ctx context.Context) (*krb.Client, error)

	// Timeout bounds the wait for an answer.
	Timeout time.Duration
}

// maxAnswer bounds the bytes of an answer.
const maxAnswer = 64 << 10

// aesCTR is the number of AES/CTR/NoPadding among Hadoop's cipher suites.
const aesCTR = 2

// Key returns the key of a file, decrypted by the KMS at provider (kms://http@host1;host2:9600/kms) for a user.
func (c *Client) Key(ctx context.Context, provider, user string, info *hdfsproto.EncryptionInfo) (*Key, error) {
	if info.GetSuite() != aesCTR || len(info.GetIv()) != aes.BlockSize {
		return nil, pfs.Errorf("kms.Key", "", pfs.Unsupported, "the file is encrypted with suite %d: only AES/CTR/NoPadding (%d) is supported", info.GetSuite(), aesCTR)
	}
	servers, err := parse(provider)
	if err != nil {
		return nil, err
	}
	for _, server := range servers {
		var secret []byte
		if secret, err = c.ask(ctx, server, user, info); err == nil {
			return newKey(secret, info.GetIv())
		}
		if pfs.KindOf(err) != pfs.Unavailable || ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// parse returns the URLs of the servers.
func parse(provider string) (all []string, err error) {
	rest, ok := strings.CutPrefix(provider, "kms://")
	scheme, rest, at := strings.Cut(rest, "@")
	hosts, path, _ := strings.Cut(rest, "/")
	port := strings.LastIndex(hosts, ":")
	if !ok || !at || scheme != "http" && scheme != "https" || port < 0 {
		return nil, pfs.Errorf("kms.Key", "", pfs.Unsupported, "the NameNode gives the key provider %q, which is no KMS (kms://http@host:port/kms)", provider)
	}
	for host := range strings.SplitSeq(hosts[:port], ";") {
		all = append(all, scheme+"://"+host+hosts[port:]+"/"+path)
	}
	return all, nil
}

// version is a version of a key, encrypted in a request and clear in an answer.
type version struct {
	Name     string `json:"name"`
	IV       string `json:"iv,omitempty"`
	Material string `json:"material"`
}

// ask has one server decrypt a key.
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
	if c.Kerberos != nil {
		client, err := c.Kerberos(within)
		if err != nil {
			return nil, err
		}
		if err := negotiate(client, req); err != nil {
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

// negotiate adds the proof of the client's identity.
func negotiate(client *krb.Client, req *http.Request) error {
	m, err := sasl.NewGSSAPI(client, "HTTP/"+req.URL.Hostname())
	if err != nil {
		return err
	}
	token, err := m.Start(nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Negotiate "+base64.StdEncoding.EncodeToString(token))
	return nil
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
