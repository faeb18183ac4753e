package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// receiversHaveAddress asks for a way by which each receiver is told, and for webhooks that are called at one URL.
func receiversHaveAddress(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for i := range t.Receivers {
			r := &t.Receivers[i]
			if len(r.Email) == 0 && r.Slack == nil && r.Webhook == nil {
				list.Errorf(diag.ReceiverAddress, r.Name.At, "the receiver `%s` has no address: nobody is told", r.Name.V).
					Helpf("add `email`, `slack` or `webhook`")
			}
			if r.Webhook != nil {
				webhookHasURL(r.Name.V, r.Webhook, list)
			}
		}
	}
}

func webhookHasURL(name string, hook *plan.ReceiverURL, list *diag.List) {
	switch open, kept := hook.URL.V != "", hook.Secret.V != ""; {
	case open && kept:
		list.Errorf(diag.ReceiverAddress, hook.Secret.At, "the webhook of `%s` has a URL and a Secret with one", name).Also(hook.URL.At, "the URL").
			Helpf("keep one of them: `secret` where whoever knows the URL may send to it")
	case !open && !kept:
		list.Errorf(diag.ReceiverAddress, hook.At, "the webhook of `%s` has no URL", name).
			Helpf("add `url`, or `secret` with the name of a Secret of the namespace that holds it")
	}
}

// receiversDiffer asks for names that differ: they are those of objects.
func receiversDiffer(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		first := map[string]*plan.Receiver{}
		for i := range t.Receivers {
			r := &t.Receivers[i]
			if before := first[r.Name.V]; before != nil {
				list.Errorf(diag.ReceiverTwice, r.Name.At, "the tenant `%s` has two receivers `%s`", t.Name.V, r.Name.V).
					Also(before.Name.At, "also here").Helpf("choose another name, or put both into one")
				continue
			}
			first[r.Name.V] = r
		}
	}
}

// receiversAreTold warns of receivers whom a cluster does not tell, or not by all of their ways: they would wait for alerts in vain.
func receiversAreTold(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		if len(t.Receivers) > 0 && (c.Monitoring == nil || len(c.Monitoring.Notify) == 0) {
			list.Warnf(diag.SettingInVain, t.Receivers[0].Name.At, "the cluster `%s` tells tenants of no alerts: nobody in `alerts` of `%s` hears of its jobs there", c.Name.V, t.Name.V).
				Helpf("write into `monitoring.notify` of the cluster by what its Alertmanager may tell tenants, or accept it with a waiver")
			continue
		}
		for i := range t.Receivers {
			r := &t.Receivers[i]
			if len(r.Email) > 0 {
				clusterNotifiesBy(c, r, plan.Email, r.Email[0], list)
			}
			if r.Slack != nil {
				clusterNotifiesBy(c, r, plan.Slack, r.Slack.Secret, list)
			}
			if r.Webhook != nil {
				clusterNotifiesBy(c, r, plan.Webhook, r.Name, list)
			}
		}
	}
}

func clusterNotifiesBy(c *plan.Cluster, r *plan.Receiver, way string, written plan.Value[string], list *diag.List) {
	if !c.Monitoring.Notifies(way) {
		list.Warnf(diag.SettingInVain, written.At, "the cluster `%s` does not tell tenants by %s: the receiver `%s` hears of no jobs there that way", c.Name.V, way, r.Name.V).
			Also(c.Monitoring.Notify[0].At, "the ways of the cluster").Helpf("add `%s` to `monitoring.notify`, or choose another way", way)
	}
}
