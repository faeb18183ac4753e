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

// pullFailures sort the words of registries: what users are told first, and what it is recognised by.
var pullFailures = []struct {
	words string
	by    *regexp.Regexp
}{
	{"authentication required", regexp.MustCompile(`(?i)unauthorized|authentication required|no basic auth|insufficient_scope|failed to authorize|authorization failed|denied|\b40[13]\b`)},
	{"the image does not exist", regexp.MustCompile(`(?i)not found|manifest unknown|name unknown|\b404\b|not present with pull policy`)},
	{"the registry's name cannot be resolved", regexp.MustCompile(`(?i)no such host|server misbehaving|name resolution`)},
	{"the registry refuses the connection", regexp.MustCompile(`(?i)connection refused`)},
	{"the registry does not answer", regexp.MustCompile(`(?i)timeout|timed out|deadline exceeded|no route to host`)},
	{"the registry's certificate is not trusted", regexp.MustCompile(`(?i)x509|certificate`)},
	{"the registry limits the rate of pulls", regexp.MustCompile(`(?i)toomanyrequests|rate limit|\b429\b`)},
	{"no space left on the machine", regexp.MustCompile(`(?i)no space left`)},
	{"the image is not built for this machine", regexp.MustCompile(`(?i)no match for platform|no matching manifest|exec format`)},
	{"the name of the image is not valid", regexp.MustCompile(`(?i)invalid reference|couldn't parse image|InvalidImageName|must be lowercase`)},
}

// imagePull names the first failing pod, the image and the registry's own words. Kubelet alternates between the error and
// a back-off, which in Kubernetes before 1.32 does not repeat the error (see Keep).
func imagePull(pod Pod, c Container) *Cause {
	words := registryWords(c.Waiting.Message)
	message := fmt.Sprintf("Failed to pull image '%s'", c.Image)
	for _, f := range pullFailures {
		if f.by.MatchString(words) || f.by.MatchString(c.Waiting.Reason) {
			message += ": " + f.words
			break
		}
	}
	if words != "" && !strings.HasSuffix(message, words) {
		message += ": " + words
	}
	return because(ImagePull, message+"; first failing pod: "+pod.place()).in(pod).quoting(words)
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

// Keep returns the text to show for a problem, given the one that is shown: kubelet alternates between a text with the
// registry's words and one without, and what was said once stays said.
func Keep(shown string, problem Cause) string {
	if problem.Reason != ImagePull || len(problem.Evidence) > 0 {
		return problem.Text()
	}
	image, pod, _ := strings.Cut(problem.Message, ";")
	if strings.HasPrefix(shown, image+":") && strings.Contains(shown, pod) {
		return shown
	}
	return problem.Text()
}
