"""Results lie in memory as eager's do, for operators of all families and operands that are not row-major: images with channels last, turned and repeated."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import lect
from tests.e2e.support import same

PROGRAMS = {
    "powers": lambda x: (torch.pow(2.0, x), 2**x, x**2.0, x**0, torch.float_power(2, x), torch.exp2(x)),
    "numbers first": lambda x: (3 - x, 3 / x, 3 // x, torch.remainder(3, x), torch.rsub(x, 3), torch.xlogy(2.0, x), torch.special.zeta(2.0, x + 2)),
    "numbers behind": lambda x: (x // 3, torch.fmod(x, 2), torch.copysign(x, 2.0), torch.div(x, 3, rounding_mode="trunc"), torch.xlogy(x, 2.0)),
    "choices": lambda x: (torch.where(x > 1, 1.0, x), x.masked_fill(x > 1, 0), x.clamp(0, 1), torch.clamp(x, min=torch.tensor(1.0)), torch.lerp(x, x, 0.5)),
    "special": lambda x: (torch.polygamma(1, x), torch.special.entr(x), torch.i0(x), torch.sinc(x), torch.logit(x, 0.1), torch.frexp(x)[0], torch.mvlgamma(x + 3, 2)),
    "casts": lambda x: (x.half(), x.bfloat16().float(), x.int(), x.bool(), x.double(), x.clone(), x.contiguous(), torch.full_like(x, 2), torch.zeros_like(x)),
    "scans": lambda x: (x.cumsum(1), x.cumprod(2), torch.logcumsumexp(x, 1), torch.cummax(x, 1)[0], torch.sort(x, 1)[0], x.diff(dim=1)),
    "rows": lambda x: (torch.softmax(x, 1), torch.log_softmax(x, 1), F.normalize(x), F.layer_norm(x, x.shape[-1:]), F.group_norm(x, 3), torch.renorm(x, 2, 1, 1.0)),
    "folds": lambda x: (x.sum(1), x.mean((2, 3)), x.amax(1), x.var(1, keepdim=True), x.max(2)[1], x.argmax(1, keepdim=True), x.logsumexp(1), x.norm(dim=1), x.prod(1)),
    "parts": lambda x: (x.unfold(1, 2, 1) + 0, x.swapaxes(1, 2) * 1, x.movedim(1, 3) * 1, torch.tril(x), torch.fliplr(x), torch.rot90(x), torch.roll(x, 1, 1), x[:, 1:] * 2),
    "joined": lambda x: (torch.stack([x, x], 1), torch.stack([x, x], -1), torch.cat([x, x], 1), torch.hstack([x, x]), x.repeat(1, 1, 1, 2), x.repeat_interleave(2, 1)),
    "padded": lambda x: (F.pad(x, (1, 1)), F.pad(x, (1, 1, 1, 1), mode="circular"), F.interpolate(x, scale_factor=2), F.interpolate(x, scale_factor=2, mode="bilinear")),
    "picked": lambda x: (x[torch.tensor([0, 0])], x[:, torch.tensor([0, 1])], x.index_select(1, torch.tensor([0, 1])), x.gather(1, torch.zeros_like(x).long())),
    "put": lambda x: (x.scatter(1, torch.zeros_like(x).long(), x), x.index_add(1, torch.tensor([0]), x[:, :1]), x.index_fill(1, torch.tensor([0]), 1.0)),
    "windows": lambda x: (F.avg_pool2d(x, 1), F.max_pool2d(x, 1), F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, 2), F.lp_pool2d(x, 2, 1)),
    "images": lambda x: (F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2), F.channel_shuffle(x.repeat(1, 2, 1, 1), 2), F.conv2d(x, torch.ones(4, 3, 1, 1)), F.instance_norm(x.repeat(1, 1, 2, 2))),
    "losses": lambda x: (F.smooth_l1_loss(x, x * 2, reduction="none"), F.kl_div(x, x, reduction="none"), F.binary_cross_entropy(x / 9, x / 9, reduction="none")),
    "norms": lambda x: (F.batch_norm(x, torch.zeros(3), torch.ones(3)), F.batch_norm(x, None, None, training=True), F.local_response_norm(x, 2)),
    "products": lambda x: (x @ x.mT, torch.bmm(x[0], x[0].mT), torch.einsum("nchw->nhwc", x), torch.cdist(x, x)),
}


def _layouts() -> dict[str, torch.Tensor]:
    x = torch.rand(2, 3, 4, 5) + 0.5
    return {
        "channels last": x.to(memory_format=torch.channels_last),
        "turned": x.permute(3, 1, 2, 0).contiguous().permute(3, 1, 2, 0),
        "stepped": (torch.rand(2, 3, 4, 10) + 0.5)[..., ::2],
        "repeated": (torch.rand(1, 3, 4, 5) + 0.5).expand(2, 3, 4, 5),
        "one image": x[:1],
        "one place": (torch.rand(2, 3, 2, 2) + 0.5).to(memory_format=torch.channels_last),
    }


@pytest.mark.slow
@pytest.mark.parametrize("layout", _layouts())
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_lie_as_eager_lays_them(name: str, layout: str) -> None:
    lect.reset()
    torch.manual_seed(0)
    x = _layouts()[layout]
    same(PROGRAMS[name](x), lect.compile(PROGRAMS[name])(x))
