"""Warn when the new model is of another provider."""


def setup(marvin):
    @marvin.on("model.change")
    async def elsewhere(event, ctx):
        if event.previous_provider and event.previous_provider != event.new_provider:
            ctx.ui.notify(f"What you say goes to {event.new_provider} from now on.", "warning")


# Its test:

PAYLOAD = {"previous_provider": "openai", "new_provider": "xai", "new_model_id": "grok"}


def effect(hook, emitted):
    assert hook.told == ["What you say goes to xai from now on."]
