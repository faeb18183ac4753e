package diagnose

import (
	"fmt"
	"regexp"
	"strings"
)

// wrappings are what kubelet and container runtimes put around the words of a registry.
var wrappings = regexp.MustCompile(`(?i)^(?:` + strings.Join([]string{
	`back-off pulling image "[^"]*"`,
	`errimagepull`, `imagepullbackoff`,
	`rpc error: code = \w+ desc = (?:error pulling image configuration|reading manifest \S+ in \S+|copying system image from manifest list|initializing source \S+|unable to pull image or OCI artifact)`,
	`rpc error: code = \w+ desc`,
	`failed to pull and unpack image "[^"]*"`,
	`failed to (?:resolve|pull) (?:reference|image) "[^"]*"`,
	`failed to resolve image`,
	`error response from daemon`,
	`unable to pull image or OCI artifact`,
	`(?:reading manifest|initializing source|pinging container registry) \S+(?: in \S+)?`,
	`pull image err`, `pull artifact err`,
}, `|`) + `)\s*[:=]?\s*`)

// ports of our side differ in every attempt.
var ephemeral = regexp.MustCompile(`tcp \S+:\d+->`)

// pullFailures sort the words of registries: what users are told first, what it is recognised by, and whether no second try helps. What
// passes comes first: a token that could not be fetched because of a busy registry is not a question of credentials.
var pullFailures = []struct {
	words string
	by    *regexp.Regexp
	final bool
}{
	{"the registry limits the rate of pulls", regexp.MustCompile(`(?i)toomanyrequests|too many requests|rate limit|\b429\b`), false},
	{"the registry has a fault of its own", regexp.MustCompile(`(?i)\b50[0-4]\b|internal server error|bad gateway|service unavailable|RegistryUnavailable`), false},
	{"the registry's name cannot be resolved", regexp.MustCompile(`(?i)no such host|server misbehaving|name resolution`), false},
	{"the registry refuses the connection", regexp.MustCompile(`(?i)connection refused`), false},
	{"the registry does not answer", regexp.MustCompile(`(?i)timeout|timed out|deadline exceeded|no route to host|connection reset|\bEOF\b`), false},
	{"the registry's certificate is not trusted", regexp.MustCompile(`(?i)x509|certificate`), false},
	{"no space left on the machine", regexp.MustCompile(`(?i)no space left`), false},
	{"authentication required", regexp.MustCompile(`(?i)unauthorized|authentication required|no basic auth|insufficient_scope|failed to authorize|authorization failed|denied|\b40[13]\b`), true},
	{"the image does not exist", regexp.MustCompile(`(?i)not found|manifest unknown|name unknown|\b404\b|not present with pull policy`), true},
	{"the image is not built for this machine", regexp.MustCompile(`(?i)no match for platform|no matching manifest|exec format`), true},
	{"the name of the image is not valid", regexp.MustCompile(`(?i)invalid reference|couldn't parse image|InvalidImageName|must be lowercase`), true},
}

// pullFailureRank returns what kubelet's reason and words, or an earlier diagnosis, mean, as a place in pullFailures, or -1. The name of the image is not a word of the
// registry's.
func pullFailureRank(image, reason, words string) int {
	if image != "" {
		words = strings.ReplaceAll(words, image, "")
	}
	for i, f := range pullFailures {
		if f.by.MatchString(words) || f.by.MatchString(reason) || strings.Contains(words, f.words) {
			return i
		}
	}
	return -1
}

// PullIsFinal reports whether what is said of an image that cannot be pulled, by kubelet or in an earlier diagnosis, means that trying again
// does not help. What nobody knows may pass.
func PullIsFinal(image, said string) bool {
	said, _, _ = strings.Cut(said, firstFailing)
	i := pullFailureRank(image, "", registryWords(said))
	return i >= 0 && pullFailures[i].final
}

const firstFailing = "; first failing pod: "

// imagePullProblem names the first failing pod, the image and the registry's own words. Kubelet alternates between the error and
// a back-off, which in Kubernetes before 1.32 does not repeat the error (see PreferRegistryWords).
func imagePullProblem(pod Pod, c Container) *Cause {
	words := registryWords(c.Waiting.Message)
	message := fmt.Sprintf("Failed to pull image '%s'", c.Image)
	kind := pullFailureRank(c.Image, c.Waiting.Reason, words)
	if kind >= 0 {
		message += ": " + pullFailures[kind].words
	}
	if words != "" && !strings.HasSuffix(message, words) {
		message += ": " + words
	}
	message += firstFailing + pod.fullName()
	if kind >= 0 && !pullFailures[kind].final || kind < 0 && words != "" {
		message += "; kubelet tries again"
	}
	return causeWithRemedy(ImagePull, message).withPod(pod).withEvidence(words)
}

// registryWords returns what is left of kubelet's message without what others put around it.
func registryWords(message string) string {
	words := strings.ReplaceAll(strings.TrimSpace(message), "\n", " ")
	for {
		inner := wrappings.ReplaceAllString(words, "")
		if inner == words {
			return Redact(ephemeral.ReplaceAllString(words, "tcp "))
		}
		words = inner
	}
}

// PreferRegistryWords returns the text to show for a problem, given the one that is shown: kubelet alternates between a text with the
// registry's words and one without, and what was said once stays said.
func PreferRegistryWords(shown string, problem Cause) string {
	if problem.Reason != ImagePull || len(problem.Evidence) > 0 {
		return problem.Text()
	}
	image, pod, _ := strings.Cut(problem.Message, ";")
	if strings.HasPrefix(shown, image+":") && strings.Contains(shown, pod) {
		return shown
	}
	return problem.Text()
}
