"""Which models a run takes: those of the command line, of the session that it goes on with, or of the configuration."""

import argparse

from marvin_agent.agent.providers import Providers
from marvin_agent.config import Config
from marvin_agent.errors import ConfigError, MarvinError, ModelNotFoundError, UsageError
from marvin_agent.llm.values import THINKING_LEVELS, Model, ThinkingLevel
from marvin_agent.session.last import last_model, last_thinking
from marvin_agent.session.store import Session


class ModelChoice:
    """The models that are wanted. They need not be there before the hooks are loaded, which may bring them."""

    def __init__(
        self, options: argparse.Namespace, config: Config, providers: Providers, resumed: Session | None
    ) -> None:
        self._config = config
        self._providers = providers
        others_named = options.model is not None or options.provider is not None
        self._left = last_model(resumed) if resumed and not others_named else None
        """Provider and id of the model that the session was left with, when it goes on with that."""
        self.thinking: tuple[ThinkingLevel, ...] = config.thinking_levels
        if resumed and options.thinking is None:
            left = last_thinking(resumed)
            self.thinking = tuple(level for level in THINKING_LEVELS if level == left) or self.thinking

    @property
    def lost(self) -> str | None:
        """The session's model, when it is not there."""
        return "/".join(self._left) if self._left and self._providers.known(*self._left) is None else None

    def at_hand(self) -> tuple[Model, ...] | None:
        """The models; None when one of them is not there yet."""
        try:
            return None if self.lost else self.find()
        except (ConfigError, UsageError):
            return None

    def find(self) -> tuple[Model, ...]:
        """The models. ConfigError or UsageError when one that is named is not there, or none is named and found."""
        kept = self._providers.known(*self._left) if self._left else None
        if kept is None:
            return self._configured()
        others = self._configured() if self._config.models else ()
        return (kept, *(other for other in others if other.ref != kept.ref))

    def _configured(self) -> tuple[Model, ...]:
        provider = self._config.provider
        try:
            if not self._config.models:
                return (self._providers.default(provider),)
            return tuple(self._providers.find(name, provider) for name in self._config.models)
        except ModelNotFoundError as error:
            raise self._said_by("model", error) from error
        except ConfigError as error:
            if provider is None or self._providers.offers(provider):
                raise
            raise self._said_by("provider", error) from error

    def _said_by(self, key: str, error: MarvinError) -> MarvinError:
        """The error with the place that names what is not there: an option, or a line of a file."""
        origin = self._config.origin(key)
        kind = UsageError if origin.startswith("--") else ConfigError
        return kind(f"{origin}: {error.message}", hint=error.hint)
