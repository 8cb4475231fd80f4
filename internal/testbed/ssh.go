package testbed

import "testing"

// SSH makes sure that the clients of SSH (ssh, scp, sftp, ssh-keygen, sshfs) are in the PATH.
func SSH(t testing.TB) {
	t.Helper()
	up(t, "ssh", script(t, "ssh.sh"), nil, "up")
}
