package identity

import (
	"net"

	"golang.org/x/crypto/ssh"
)

// user is the name that our clients send. No server looks at it.
const user = "lockstep"

// maxAuthTries is how often a client may offer a key before the server disconnects.
const maxAuthTries = 3

// ClientConfig returns the configuration of a client that shows the key and accepts no other host key. Deadlines are
// the caller's: they belong to the connection.
func (k Key) ClientConfig() *ssh.ClientConfig {
	return &ssh.ClientConfig{
		Config:            approvedAlgorithms(),
		User:              user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(k.signer)},
		HostKeyAlgorithms: []string{k.signer.PublicKey().Type()},
		HostKeyCallback: func(_ string, _ net.Addr, public ssh.PublicKey) error {
			if !k.hasPublicHalf(public) {
				return ErrOtherKey
			}
			return nil
		},
	}
}

// ServerConfig returns the configuration of a server that shows the key and lets in whoever holds it, by public key
// authentication and no other method. The user name is ignored.
func (k Key) ServerConfig() *ssh.ServerConfig {
	config := &ssh.ServerConfig{
		Config:                  approvedAlgorithms(),
		MaxAuthTries:            maxAuthTries,
		PublicKeyAuthAlgorithms: []string{k.signer.PublicKey().Type()},
		PublicKeyCallback: func(_ ssh.ConnMetadata, public ssh.PublicKey) (*ssh.Permissions, error) {
			if !k.hasPublicHalf(public) {
				return nil, ErrOtherKey
			}
			return nil, nil
		},
		ServerVersion: "SSH-2.0-lockstep",
	}
	config.AddHostKey(k.signer)
	return config
}

// approvedAlgorithms are what FIPS 140-3 approves, with or without its mode; the fastest comes first.
func approvedAlgorithms() ssh.Config {
	return ssh.Config{
		KeyExchanges: []string{ssh.KeyExchangeECDHP256, ssh.KeyExchangeECDHP384},
		Ciphers:      []string{ssh.CipherAES128GCM, ssh.CipherAES256GCM},
		MACs:         []string{ssh.HMACSHA256ETM},
	}
}
