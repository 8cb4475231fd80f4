package sftpfs

import (
	"log/slog"
	"net"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

const (
	openOp         = "sftpfs.Open"
	defaultTimeout = 30 * time.Second
	urlForm        = "sftp://HOST[:PORT]/DIR"
)

// Options selects a host, a directory and a login.
type Options struct {
	// Address is the host:port of the server.
	Address string
	// Root is the absolute path of the directory that is the root of the tree. It must exist.
	Root string
	// User is the login name.
	User string
	// Key is the file of a private key without a passphrase, in a form of OpenSSH. PasswordFile is a
	// file whose first line is the password. One of them is needed.
	Key, PasswordFile string
	// KnownHosts is a file that contains the host key, as OpenSSH's known_hosts.
	KnownHosts string
	// Timeout is how long the server may send nothing while a call waits; 0 means 30 seconds.
	Timeout time.Duration
	// Logger receives messages for operators: lost and new connections. nil means no log.
	Logger *slog.Logger
}

// ParseURL returns the address and the root in the URL of a store.
func ParseURL(storeURL string) (Options, error) {
	u, err := url.Parse(storeURL)
	if err != nil || u.Scheme != "sftp" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return Options{}, pfs.Errorf("sftpfs.ParseURL", "", pfs.Invalid, "an SFTP host is %s", urlForm)
	}
	port := u.Port()
	if port == "" {
		port = "22"
	}
	return Options{Address: net.JoinHostPort(u.Hostname(), port), Root: path.Clean("/" + u.Path)}, nil
}

// config returns the configuration of the connection. It reads the files of the options.
func (o Options) config() (*ssh.ClientConfig, error) {
	invalid := func(format string, args ...any) error { return pfs.Errorf(openOp, "", pfs.Invalid, format, args...) }
	c := &ssh.ClientConfig{User: o.User, Timeout: o.Timeout}
	if o.User == "" {
		return nil, invalid("no user for %s is given", o.Address)
	}
	if o.KnownHosts == "" {
		return nil, invalid("no known_hosts file is given, so the host key of %s cannot be checked: ssh-keyscan(1) makes one", o.Address)
	}
	check, err := knownhosts.New(o.KnownHosts)
	if err != nil {
		return nil, invalid("known_hosts: %w", err)
	}
	c.HostKeyCallback = check
	c.HostKeyAlgorithms = algorithms(check, o.Address)
	if o.Key != "" {
		text, err := os.ReadFile(o.Key)
		if err != nil {
			return nil, invalid("private key: %w", err)
		}
		signer, err := ssh.ParsePrivateKey(text)
		if err != nil {
			return nil, invalid("private key %s: %w", o.Key, err)
		}
		c.Auth = append(c.Auth, ssh.PublicKeys(signer))
	}
	if o.PasswordFile != "" {
		text, err := os.ReadFile(o.PasswordFile)
		if err != nil {
			return nil, invalid("password: %w", err)
		}
		password, _, _ := strings.Cut(string(text), "\n")
		c.Auth = append(c.Auth, ssh.Password(strings.TrimSuffix(password, "\r")))
	}
	if len(c.Auth) == 0 {
		return nil, invalid("neither a private key nor a password file for %s is given", o.User)
	}
	return c, nil
}
