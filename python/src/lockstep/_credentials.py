"""Credentials, read again where they came from when the API server does not know them any more: tokens expire while jobs run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import yaml
from kubeflow.common.utils import is_running_in_k8s
from kubeflow.trainer import KubernetesBackendConfig
from kubernetes import config
from kubernetes.client import ApiClient, Configuration
from kubernetes.client.rest import RESTClientObject


def renewal(source: KubernetesBackendConfig, client: ApiClient) -> Callable[[], None] | None:
    """What gives a client fresh credentials; None where its configuration is the caller's own."""
    if source.client_configuration is not None:
        return None

    def renew() -> None:
        with suppress(config.ConfigException, OSError, yaml.YAMLError):  # it may be written just now
            fresh = _read(source)
            if fresh.host == client.configuration.host:  # somebody may have turned to another cluster since
                client.configuration, client.rest_client = fresh, RESTClientObject(fresh)

    return renew


def impersonated(source: KubernetesBackendConfig) -> str:
    """Whom a kubeconfig says to act as (``as:``), which the ``kubernetes`` package does not do, and nobody where it does not."""
    if source.client_configuration is not None or (is_running_in_k8s() and not source.config_file):
        return ""
    path = source.config_file or config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION
    with suppress(config.ConfigException, OSError, yaml.YAMLError):  # whoever reads it next says what is wrong with it
        contexts, active = config.list_kube_config_contexts(config_file=path)
        context = next((c for c in contexts if c["name"] == source.context), active)
        for entry in config.kube_config.KubeConfigMerger(path).config.value["users"]:
            if entry["name"] == context["context"].get("user"):
                user: dict[str, object] = entry.value.get("user") or {}
                return str(user.get("as") or "")
    return ""


def _read(source: KubernetesBackendConfig) -> Configuration:
    """As Kubeflow's client reads it."""
    fresh = Configuration()
    if source.config_file or not is_running_in_k8s():
        config.load_kube_config(config_file=source.config_file, context=source.context, client_configuration=fresh)
    else:
        config.load_incluster_config(client_configuration=fresh)
    return fresh
