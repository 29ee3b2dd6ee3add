"""Whether the deployment files can be read, agree with each other and with the code; `make check` runs it.

Prints one line a file; ends with status 1 after a line that says what is wrong.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from redis import Redis

from toolrelay.embedded import EmbeddedServer
from toolrelay.errors import ToolrelayError
from toolrelay.protocol.keys import Keys
from toolrelay.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
COMPOSE = ROOT / "docker-compose.yml"
DOCKERFILE = ROOT / "Dockerfile"
REDIS_CONF = DEPLOY / "redis" / "redis.conf"
USERS = DEPLOY / "redis" / "users.acl"

WORKER = "toolrelay-worker"
HEALTH = ["toolrelay", "health"]
OPERATOR = "toolrelay-operator"
EXPECTED_USERS = {"default", OPERATOR, "toolrelay-producer", "toolrelay-worker", "toolrelay-scaler"}
EXPECTED_CONF = {"appendonly": "yes", "maxmemory-policy": "noeviction"}
EXPECTED_KINDS = {
    "ConfigMap",
    "Deployment",
    "Kustomization",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "ScaledObject",
    "TriggerAuthentication",
}

Document = dict[str, Any]


class WrongError(Exception):
    """A file does not say what it should."""


def require(claim: object, what: str) -> None:
    """Raise ``WrongError`` with ``what`` unless the claim holds."""
    if not claim:
        raise WrongError(what)


def main() -> int:
    """Check every file, and give the exit status."""
    failures = [path for path, check in checks() if not passes(path, check)]
    return 1 if failures else 0


def checks() -> Iterator[tuple[Path, Callable[[Path], None]]]:
    """Every file and how it is checked; a YAML file that nobody has thought of is checked as a manifest."""
    for path in sorted(DEPLOY.rglob("*.y*ml")):
        yield path, check_manifests
    yield DEPLOY / "kubernetes", check_together
    yield COMPOSE, check_compose
    yield DOCKERFILE, check_dockerfile
    yield REDIS_CONF, check_redis_conf
    yield USERS, check_users


def passes(path: Path, check: Callable[[Path], None]) -> bool:
    """Check one file and print its line."""
    name = path.relative_to(ROOT)
    try:
        check(path)
    except (WrongError, ToolrelayError, yaml.YAMLError, OSError) as exc:
        sys.stdout.write(f"{name}: {exc}\n")
        return False
    except (KeyError, IndexError, TypeError, AttributeError) as exc:  # a document of another shape than ours
        sys.stdout.write(f"{name}: something is missing or of the wrong type: {exc!r}\n")
        return False
    sys.stdout.write(f"{name}: ok\n")
    return True


# --- Kubernetes ---------------------------------------------------------------------------------


def check_manifests(path: Path) -> None:
    """Each document has a kind that we know, a name of its own, and what that kind needs."""
    documents = manifests(path)
    require(documents, "no document in it")
    for document in documents:
        require(document["apiVersion"], "no apiVersion")
        kind = document["kind"]
        require(kind in EXPECTED_KINDS, f"a {kind} is not expected here: add it to deploy/check.py")
        if kind != "Kustomization":
            require(document["metadata"]["name"], f"the {kind} has no name")
        if kind in BY_KIND:
            BY_KIND[kind](document)


def check_kustomization(document: Document) -> None:
    """Every manifest of the folder is in it, and nothing else."""
    folder = DEPLOY / "kubernetes"
    present = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
    require(set(document["resources"]) == present, f"resources should be {sorted(present)}")


def check_config_map(document: Document) -> None:
    """Every variable is a setting with a value that it takes."""
    check_variables(document["data"])


def check_deployment(document: Document) -> None:
    """Probes ask the worker itself, nothing runs as root, and there is time to finish."""
    template = document["spec"]["template"]
    pod = template["spec"]
    container = pod["containers"][0]
    require(document["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items(), "selector")
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        command = " ".join(container[probe]["exec"]["command"])
        require(" ".join(HEALTH) in command, f"{probe} should run {' '.join(HEALTH)}")
        require(container[probe]["timeoutSeconds"] >= 5, f"{probe} gives Python no time to start")
    require(pod["securityContext"]["runAsNonRoot"], "runs as root")
    require(container["securityContext"]["readOnlyRootFilesystem"], "the root file system should be read-only")
    require(not container["securityContext"]["allowPrivilegeEscalation"], "allows privilege escalation")
    require("/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}, "no /tmp to write to")  # noqa: S108 - the container's
    require(container["image"] == f"toolrelay:{version()}", f"image should be toolrelay:{version()}")
    require(container["resources"]["limits"]["memory"], "no memory limit")


def check_budget(document: Document) -> None:
    """A drain can always go on."""
    require(document["spec"]["maxUnavailable"], "a budget that forbids every eviction blocks drains")


def check_scaled_object(document: Document) -> None:
    """It watches the list that the code uses."""
    queue = Keys.of(Settings.load(namespace="toolrelay", queue="calls")).queue
    trigger = document["spec"]["triggers"][0]
    require(trigger["type"] == "redis", "the trigger should be redis")
    require(trigger["metadata"]["listName"] == queue, f"listName should be {queue}")
    require(isinstance(trigger["metadata"]["listLength"], str), "listLength must be a string")
    require(document["spec"]["minReplicaCount"] >= 1, "without any worker nobody rescues calls")


def check_together(folder: Path) -> None:
    """What one manifest names, another one has."""
    by_kind = {document["kind"]: document for path in folder.rglob("*.yaml") for document in manifests(path)}
    require(by_kind.keys() == EXPECTED_KINDS, f"missing: {sorted(EXPECTED_KINDS - by_kind.keys())}")
    deployment, scaled, config = by_kind["Deployment"], by_kind["ScaledObject"], by_kind["ConfigMap"]
    pod, labels = deployment["spec"]["template"]["spec"], deployment["spec"]["selector"]["matchLabels"]
    require(deployment["metadata"]["name"] == WORKER, f"the Deployment should be called {WORKER}")
    require(scaled["spec"]["scaleTargetRef"]["name"] == WORKER, "the ScaledObject scales another Deployment")
    require(by_kind["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels, "the budget's selector")
    require(by_kind["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels, "the policy's selector")
    source = pod["containers"][0]["envFrom"][0]["configMapRef"]["name"]
    require(source == config["metadata"]["name"], f"no ConfigMap is called {source}")
    authentication = scaled["spec"]["triggers"][0]["authenticationRef"]["name"]
    require(by_kind["TriggerAuthentication"]["metadata"]["name"] == authentication, f"no {authentication}")
    check_grace(config["data"], pod["terminationGracePeriodSeconds"], "terminationGracePeriodSeconds")


BY_KIND: dict[str, Callable[[Document], None]] = {
    "ConfigMap": check_config_map,
    "Deployment": check_deployment,
    "Kustomization": check_kustomization,
    "PodDisruptionBudget": check_budget,
    "ScaledObject": check_scaled_object,
}


# --- Docker -------------------------------------------------------------------------------------


def check_compose(path: Path) -> None:
    """Workers can be scaled and prove that they consume; Redis keeps what it has and is reachable from here only."""
    services = yaml.safe_load(path.read_text(encoding="utf-8"))["services"]
    require(services.keys() >= {"redis", "worker", "agent"}, "services redis, worker and agent are needed")
    for name, service in services.items():
        require(service["healthcheck"]["test"], f"{name} has no health check")
    worker, redis = services["worker"], services["redis"]
    require(worker["healthcheck"]["test"] == ["CMD", *HEALTH], "the worker's health check")
    require(not worker.keys() & {"container_name", "ports"}, "a worker with a name or port of its own cannot be scaled")
    require(all(port.startswith("127.0.0.1:") for port in redis["ports"]), "Redis should listen on 127.0.0.1 only")
    require(
        f"./{REDIS_CONF.relative_to(ROOT)}" in " ".join(redis["volumes"]), "Redis should read deploy/redis/redis.conf"
    )
    for service in (worker, services["agent"]):
        check_variables(service["environment"])
    check_grace(worker["environment"], int(worker["stop_grace_period"].removesuffix("s")), "stop_grace_period")


def check_dockerfile(path: Path) -> None:
    """Signals reach the worker, and it does not run as root."""
    lines = path.read_text(encoding="utf-8").splitlines()
    require('ENTRYPOINT ["toolrelay"]' in lines, "ENTRYPOINT should be toolrelay itself, in exec form")
    require('CMD ["worker"]' in lines, "CMD should be worker")
    require(any(re.fullmatch(r"USER [1-9]\d*:[1-9]\d*", line) for line in lines), "USER should be a number, not root")
    require(any(line.startswith("HEALTHCHECK ") for line in lines), "no HEALTHCHECK")


# --- Redis --------------------------------------------------------------------------------------


def check_redis_conf(path: Path) -> None:
    """A server starts with it, and it says what must not be left to a default."""
    lines = path.read_text(encoding="utf-8").splitlines()
    said = dict(line.split(None, 1) for line in lines if line and not line.startswith("#"))
    for name, value in EXPECTED_CONF.items():
        require(said.get(name) == value, f"{name} should be {value}")
    with EmbeddedServer(config=path) as server, Redis.from_url(server.url, decode_responses=True) as redis:
        require(redis.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}, "it was not read")


def check_users(path: Path) -> None:
    """A server starts with it, nobody has a password in it, and nobody gets in without one."""
    text = path.read_text(encoding="utf-8")
    names = set(re.findall(r"^user (\S+)", text, flags=re.MULTILINE))
    require(names == EXPECTED_USERS, f"users should be {sorted(EXPECTED_USERS)}")
    require(not re.search(r" (nopass|[>#<!]\S+)", text), "passwords belong into the copy that is deployed")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "users.acl"
        copy.write_text(with_password(text, OPERATOR, "check"), encoding="utf-8")
        options = {"aclfile": str(copy)}
        with (
            EmbeddedServer(config=REDIS_CONF, options=options, username=OPERATOR, password="check") as server,  # noqa: S106 - of this moment
            Redis.from_url(server.url, decode_responses=True) as redis,
        ):
            require(set(redis.acl_users()) == EXPECTED_USERS, "the server has other users")


def with_password(users: str, name: str, password: str) -> str:
    """The ACL file with a user's password added, as docs/deployment.md does with sed."""
    digest = hashlib.sha256(password.encode()).hexdigest()
    return re.sub(rf"^user {name} on", rf"\g<0> #{digest}", users, flags=re.MULTILINE)


# --- what they share ----------------------------------------------------------------------------


def check_variables(variables: dict[str, Any]) -> None:
    """Every ``TOOLRELAY_`` variable is a setting, and its value is text that the setting takes."""
    settings: dict[str, str] = {}
    for name, value in variables.items():
        require(isinstance(value, str), f"{name} must be text: quote it")
        field = name.removeprefix("TOOLRELAY_").lower()
        require(field in Settings.model_fields, f"there is no setting {name}")
        settings[field] = value
    Settings.load(**settings)


def check_grace(variables: dict[str, str], seconds: int, name: str) -> None:
    """The container is not killed while its worker still lets calls finish."""
    grace = Settings.load(shutdown_grace=variables["TOOLRELAY_SHUTDOWN_GRACE"]).shutdown_grace.total_seconds()
    require(seconds >= grace + 10, f"{name} should be TOOLRELAY_SHUTDOWN_GRACE and 10 seconds to give calls back")


def manifests(path: Path) -> list[Document]:
    """The file's documents."""
    return [document for document in yaml.safe_load_all(path.read_text(encoding="utf-8")) if document is not None]


def version() -> str:
    """The project's version."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


if __name__ == "__main__":
    sys.exit(main())
