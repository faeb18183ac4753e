package decode

import "testing"

// TestCorrected: what was meant is computed where that is certain, and has the format.
func TestCorrected(t *testing.T) {
	for _, c := range [][3]string{
		{"cidr", "192.168.7.9/24", "192.168.7.0/24"}, {"cidr", "10.0.0.1", "10.0.0.1/32"}, {"cidr", "10.1.0.0/255.255.0.0", "10.1.0.0/16"},
		{"cidr", "10/8", ""}, {"cidr", "10.20/16", "10.20.0.0/16"}, {"cidr", "[fd00::1]/8", "fd00::/8"}, {"cidr", "10.0.0.0/255.0.255.0", ""}, {"cidr", "10.0.0.0/40", ""},
		{"duration", "30d", "720h"}, {"duration", "1d12h", "36h"}, {"duration", "1 day", "24h"}, {"duration", "P1DT30M", "1470m"}, {"duration", "90 sec", "90s"},
		{"duration", "soon", ""}, {"duration", "0d", ""},
		{"date", "31.12.2027", "2027-12-31"}, {"date", "2027/3/1", "2027-03-01"}, {"date", "03/04/2027", ""}, {"date", "03/31/2027", "2027-03-31"},
		{"git-url", "git@host.example:a/b.git", "ssh://git@host.example/a/b.git"}, {"git-url", "git.example.com/a.git", "https://git.example.com/a.git"},
		{"git-url", "git://git.example.com/a", "https://git.example.com/a"}, {"git-url", "nothing", ""},
		{"https-url", "s3.example.com", "https://s3.example.com"}, {"https-url", "https://a:b@s3.example.com/?x#y", "https://s3.example.com/"},
		{"dns-label", "Team_Vision", "team-vision"}, {"dns-label", "“a–b”", "a-b"}, {"dns-name", "A.b_c", "a.b-c"}, {"dns-label", "größe", ""},
		{"image", "docker://Example.org/Team:V1", "example.org/team:V1"}, {"kubernetes-version", "v1.36.2", "1.36"}, {"minor-version", "v3.4.1", "3.4"}, {"mpi-version", "v5.0.7", "5.0.7"},
		{"path", "./charts//a/", "charts/a"}, {"path", "../a", ""}, {"mount-path", "data", "/data"}, {"namespace-pattern", "GPU*", "gpu*"},
	} {
		if got := correctedValue(c[0], c[1]); got != c[2] {
			t.Errorf("%s %q: got %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// TestMeant: numbers and amounts in other spellings.
func TestMeant(t *testing.T) {
	for text, want := range map[string]string{
		"3GB": "3G", "3 Gi": "3Gi", "3gi": "3Gi", "0,5": "0.5", "16,5Gi": "16.5Gi", "2 cores": "2", "250 millicores": "250m", "3 apples": "", "x": "", "2 kilobytes": "2k",
	} {
		if got := intendedAmount(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"https": "443", "8": "8", "8.0": "8", "1e3": "1000", "1,000": "1000", "many": "", "1.5": ""} {
		if got := intendedNumber(text, "port"); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
