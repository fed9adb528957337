"""Whose name does a service use at the broker? That of its own settings, else one that stands in the URL."""

from urllib.parse import quote, urlsplit, urlunsplit


def with_credentials(url: str, user: str | None, password: str | None) -> str:
    """The URL with this name and password in place of any it has; as it is where no name is given."""
    if user is None:
        return url
    parts = urlsplit(url)
    login = quote(user, safe="") if password is None else f"{quote(user, safe='')}:{quote(password, safe='')}"
    return urlunsplit(parts._replace(netloc=f"{login}@{parts.netloc.rpartition('@')[2]}"))
