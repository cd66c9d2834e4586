"""Language models of transformers, captured: the same predictions and losses."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("safetensors")

import halfulp as hu  # noqa: E402
import halfulp.torch as ht  # noqa: E402
from needs import needs_export  # noqa: E402
from test_torch_values import PLACES, PLAIN, WORDS, compare, text_fields  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), needs_export]  # warnings are PyTorch's

SHAPE = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 24,
}
STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


class Scores(torch.nn.Module):
    """A model of transformers that reads tokens alone."""

    def __init__(self, model, **keys):
        super().__init__()
        self.model, self.keys = model, keys

    def forward(self, ids):
        return self.model(ids, **self.keys).logits


def bert(kind, attention, labels):
    config = transformers.BertConfig(**SHAPE, **STILL, num_labels=labels)
    config._attn_implementation = attention
    return Scores(getattr(transformers, f"BertFor{kind}")(config))


def causal(name, attention="eager", **more):
    config = getattr(transformers, f"{name}Config")(attn_implementation=attention, **more)
    names = {"GPT2": "GPT2LMHeadModel"}
    model = getattr(transformers, names.get(name, f"{name}ForCausalLM"))
    return Scores(model(config), use_cache=False)


WORD_MODELS = {
    "bert": lambda: bert("MaskedLM", "sdpa", 2),
    "bert-tagger": lambda: bert("TokenClassification", "eager", WORDS),
    "gpt2": lambda: causal(
        "GPT2",
        vocab_size=WORDS,
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=24,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    ),
    "llama": lambda: causal("Llama", "sdpa", **SHAPE, num_key_value_heads=2),
    "llama-eager": lambda: causal("Llama", **SHAPE, num_key_value_heads=2),
    "qwen2": lambda: causal("Qwen2", **SHAPE, num_key_value_heads=2),
    "gpt-neox": lambda: causal("GPTNeoX", **SHAPE),
}


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_bert_says_a_class_of_a_text(attention):
    torch.manual_seed(8)
    x, y = torch.randint(0, WORDS, (6, PLACES)), torch.randint(0, 3, (6,))
    module = bert("SequenceClassification", attention, 3)
    net = compare(module, x, y, text_fields(), "classify_text", 10)
    assert not net.constants and not net.notes


@pytest.mark.parametrize("name", WORD_MODELS)
def test_models_of_words(name):
    torch.manual_seed(8)
    module = WORD_MODELS[name]()
    x, y = (torch.randint(3, WORDS, (6, PLACES)) for _ in range(2))
    net = ht.capture(module, (x,), task="language")
    assert not net.notes
    fields = [hu.Field(n, (PLACES,), classes=WORDS) for n in ("tokens", "targets")]
    with hu.Trainer(net, fields=fields, samples=6, batch=6, steps=10, **PLAIN) as trainer:
        with torch.no_grad():
            expected = copy.deepcopy(module).eval()(x).numpy()
        found = trainer.predict(x.numpy()).reshape(expected.shape)
        assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()
        module.train()
        optimizer = torch.optim.SGD(module.parameters(), lr=PLAIN["lr_base"])
        for _ in range(10):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(module(x).transpose(1, 2), y)
            loss.backward()
            optimizer.step()
            assert abs(trainer.step(x.numpy(), y.numpy()).loss - float(loss)) < 1e-4


def test_places_that_tokens_decide():
    """RoBERTa counts its places from the tokens that are no padding."""
    config = transformers.RobertaConfig(**SHAPE, **STILL)
    module = Scores(transformers.RobertaForMaskedLM(config))
    with pytest.raises(hu.UnsupportedError, match=r"embeddings \(RobertaEmbeddings\): ne\.Scalar"):
        ht.capture(module, (torch.randint(3, WORDS, (2, PLACES)),), task="language")
