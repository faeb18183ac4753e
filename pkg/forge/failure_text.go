package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// refusalText is what the forge says about a refusal: GitHub has the reason in `errors`, GitLab a list for each field in `message`.
func (r *response) refusalText() string {
	var said struct {
		Message any `json:"message"`
		Errors  any `json:"errors"`
		Error   any `json:"error"`
	}
	if json.Unmarshal(r.body, &said) != nil {
		return ""
	}
	words := append(textsInAnswer(said.Message), textsInAnswer(said.Errors)...)
	if len(words) == 0 {
		words = textsInAnswer(said.Error)
	}
	return strings.Join(words, ": ")
}

// textsInAnswer are the words in a part of an answer.
func textsInAnswer(part any) []string {
	switch part := part.(type) {
	case nil:
		return nil
	case []any:
		var all []string
		for _, one := range part {
			all = append(all, strings.Join(textsInAnswer(one), ", "))
		}
		return all
	case map[string]any:
		if message, isText := part["message"].(string); isText && message != "" {
			return []string{message}
		}
		var all []string
		for _, key := range slices.Sorted(maps.Keys(part)) {
			all = append(all, key+" "+strings.Join(textsInAnswer(part[key]), ", "))
		}
		return all
	}
	return []string{fmt.Sprint(part)}
}

// plainLine makes a text of the forge one line without control characters, which a terminal would obey.
func plainLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxMessage {
		return string(runes[:maxMessage]) + "…"
	}
	return text
}

// explainFailure says what an answer means, without the token.
func (c *Client) explainFailure(r response, err error) error {
	hidden := strings.NewReplacer(c.Token, "***")
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the forge gave no answer within %s", c.answerTimeout())
	case err != nil:
		return errors.New(plainLine(hidden.Replace(err.Error())))
	}
	no := &refusedError{r.status, plainLine(hidden.Replace(r.refusalText()))}
	switch {
	case r.status == http.StatusUnauthorized:
		return fmt.Errorf("%w; the token is wrong or has expired", no)
	case r.status == http.StatusForbidden && !r.isRateLimited():
		return fmt.Errorf("%w: %w", ErrForbidden, no)
	case r.status == http.StatusNotFound:
		return fmt.Errorf("%w; there is no %s #%d, or the token does not see it", no, c.Target.Repository, c.Target.Number)
	}
	return no
}
